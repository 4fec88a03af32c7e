"""Executes the marbles blocks of all pages, or of the given ones, and writes their transcripts into the pages."""

from __future__ import annotations

import sys
from pathlib import Path

from marbles.pages import all_blocks, record

if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]) if sys.argv[1:] else {block.page: None for block in all_blocks()}:
        record(page)
