"""What tables need of the graph: rows to look up, old values, stores, global tables."""
