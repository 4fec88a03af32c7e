"""Aggregations over whole batches."""
