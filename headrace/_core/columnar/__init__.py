"""Batch forms of operators: the results of the record path, computed for whole columns at once."""
