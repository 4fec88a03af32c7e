"""Operators without state: filter, map, flat map, branch, peek."""
