"""Timestamps from the whole range that Kafka allows, most of them where sums of times could overflow."""

from __future__ import annotations

from hypothesis import strategies as st

END = 2**63 - 1

EDGES = (0, 1, 9, 2**31, 2**53, 2**62, END - 100, END - 10, END - 9, END - 1, END)


def times():
    near = st.tuples(st.sampled_from(EDGES), st.integers(-12, 12)).map(lambda pair: min(max(sum(pair), 0), END))
    return st.sampled_from(EDGES) | near | st.integers(0, 40) | st.integers(0, END)
