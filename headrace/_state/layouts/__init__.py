"""How stores lay out their entries in bytes, and how entries expire."""
