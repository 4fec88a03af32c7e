"""Reads an iterator of entries page by page, so that a scan costs Python time per page and not per entry."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

Entry = tuple[bytes, bytes]

_FIRST, _MOST = 4, 1024
_PAGE_BYTES = 1 << 18


def pages(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Yields all entries in lists: first short ones, because most scans are short, then longer if entries are small."""
    wanted = _FIRST
    while page := list(islice(entries, wanted)):
        yield page
        largest = max(len(value) for _, value in page[:: max(1, len(page) // 8)])
        wanted = min(4 * wanted, _MOST, max(_FIRST, _PAGE_BYTES // (largest + 1)))
