"""Joins as nodes of the graph, one module for each pair of partners."""
