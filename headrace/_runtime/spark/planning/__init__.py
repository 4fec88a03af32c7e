"""What a start runs, and what each micro-batch reads."""
