"""Benchmarks: contenders side by side in one run, alternating, medians of warm batches, ratios."""
