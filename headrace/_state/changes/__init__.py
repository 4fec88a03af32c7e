"""The durable state of a task: a head, deltas and slices, their compaction and restore."""
