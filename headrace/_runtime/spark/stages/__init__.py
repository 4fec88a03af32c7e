"""The tasks of a micro-batch: frames, stages, commit."""
