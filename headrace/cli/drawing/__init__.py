"""Draws topologies as SVG, as an HTML page and as a tree of text."""
