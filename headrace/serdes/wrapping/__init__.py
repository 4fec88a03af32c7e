"""Serdes around another serde: lists, windowed keys, changes of rows, sides of a join."""
