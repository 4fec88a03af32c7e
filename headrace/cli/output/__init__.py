"""What commands print and read: tables, progress, records as text."""
