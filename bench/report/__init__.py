"""Writes `docs/proof/benchmarks.md` and its plots from `bench/results.json`: `python -m bench.report`."""
