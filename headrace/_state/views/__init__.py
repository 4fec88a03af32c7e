"""Stores as they are read from outside."""
