"""Graph building for tables: stores of rows, lookups, old values, global tables."""
