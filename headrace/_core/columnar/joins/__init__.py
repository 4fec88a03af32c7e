"""Joins over whole batches."""
