"""The state directory of an application: its log, the lock and the stop request of a run, reads of its stores."""
