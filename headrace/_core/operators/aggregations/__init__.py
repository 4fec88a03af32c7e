"""Aggregations of grouped streams and grouped tables."""
