"""The stores that operators and processors use."""
