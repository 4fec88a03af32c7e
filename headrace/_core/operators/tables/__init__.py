"""Tables: sources, filters and mappings of rows."""
