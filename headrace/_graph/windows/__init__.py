"""Graph building for windows: their stores, when they close, the sink of late records."""
