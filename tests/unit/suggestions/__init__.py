"""What errors say about guessed names and arguments."""
