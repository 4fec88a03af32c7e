"""Tables over whole batches."""
