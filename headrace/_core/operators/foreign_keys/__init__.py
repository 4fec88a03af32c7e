"""Joins by a foreign key."""
