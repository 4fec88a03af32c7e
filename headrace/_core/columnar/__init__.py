"""Batch forms of operators: the same results as the record path, for whole columns at once."""
