"""The durable state of a task: a head, deltas, slices, and how they are compacted and restored."""
