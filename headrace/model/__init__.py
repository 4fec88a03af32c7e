"""What users and all layers of the library speak of: records, windows, processors, stores."""
