"""Adds the nodes of joins to the graph; one module for each kind of join."""
