"""Functions of keys and values over whole batches."""
