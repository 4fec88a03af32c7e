"""The operators of `KStream`, by theme."""
