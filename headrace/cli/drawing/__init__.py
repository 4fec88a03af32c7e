"""Draws topologies as an HTML page and as a tree of text."""
