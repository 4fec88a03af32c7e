"""Topics in a directory: a commit log, and immutable data files."""
