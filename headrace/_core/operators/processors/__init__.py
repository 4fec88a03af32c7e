"""Processors of the user's own."""
