"""The types that users and all layers of the library share: records, windows, processors, stores."""
