"""How entries of stores lie in bytes, and how they expire."""
