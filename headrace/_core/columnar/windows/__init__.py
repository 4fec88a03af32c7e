"""Windows over whole batches."""
