"""The local copy of a task's stores, in LMDB."""
