"""The state stores of processors and tables: how to describe them, and what they offer."""
