"""`python -m bench.report` writes the benchmarks page and its plots again."""

from __future__ import annotations

from bench.report.writing import write

if __name__ == "__main__":
    write()
