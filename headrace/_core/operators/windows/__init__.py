"""Aggregations in windows, and suppression of results that are not final."""
