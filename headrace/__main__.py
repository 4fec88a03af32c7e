"""`python -m headrace`: the command line, for a Python whose scripts are not on the path."""

from __future__ import annotations

from headrace.cli import main

if __name__ == "__main__":
    main()
