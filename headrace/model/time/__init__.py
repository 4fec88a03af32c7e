"""Windows and timestamps: which records belong together in time, and when their results are emitted."""
