"""Read-only stores for interactive queries."""
