"""The operators of `KTable`, by theme."""
