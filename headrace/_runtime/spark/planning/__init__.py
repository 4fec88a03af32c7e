"""The plan of a query, and of each micro-batch: what runs where, and which records it reads."""
