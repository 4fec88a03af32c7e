"""The fluent classes: each method checks its arguments and adds nodes to the graph."""
