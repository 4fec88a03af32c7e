"""Topologies as SVG and HTML."""
