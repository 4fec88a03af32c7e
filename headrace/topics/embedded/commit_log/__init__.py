"""The file of commits that defines what embedded topics contain, and its entries."""
