"""Clocks of operators: stream time, open windows, punctuation."""
