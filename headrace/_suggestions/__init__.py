"""Errors for guessed names: they say what a name of the Java API, or a misspelt one, is called here."""
