"""Stores of byte strings, ordered by key: the interface, a store in memory, and an overlay of uncommitted changes."""
