"""Output and input of commands: tables, progress, records as text."""
