"""Errors of user code and of records: what a handler decides, and dead letters."""
