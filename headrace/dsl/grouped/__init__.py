"""Grouped streams and tables, in windows or not, and cogroups: what can be aggregated."""
