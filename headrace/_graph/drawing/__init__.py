"""Draws a graph as SVG: layout, shapes and colours."""
