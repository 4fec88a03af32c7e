"""Benchmarks: contenders take turns in one run; compared by the medians of their batches after warm-up."""
