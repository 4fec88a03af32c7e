"""Errors for unknown names: they say what to write instead of a name of the Java API, or of a misspelt one."""
