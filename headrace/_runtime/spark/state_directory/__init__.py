"""The state directory of an application: its log, who runs, what is read from it."""
