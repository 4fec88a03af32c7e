"""What windows need of the graph: stores, when they close, where late records go."""
