"""Ordered maps of byte strings: the interface, in memory, and one on top of another."""
