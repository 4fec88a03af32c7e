"""Topics in a directory: a log of commits, and immutable segments."""
