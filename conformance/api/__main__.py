"""Compares the public API of Kafka Streams with what Headrace has.

python -m conformance.api             fails if the committed listing or page is not up to date; needs a JDK and Maven
python -m conformance.api --update    writes both
"""

from __future__ import annotations

import argparse
import sys

from conformance.api.equivalents import equivalents
from conformance.api.listing import LISTING, list_jars, read_listing, write_listing
from conformance.api.page import PAGE, page
from conformance.record import build


def main() -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.api", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--update", action="store_true", help="write the listing and the page")
    options = parser.parse_args()
    build()
    listing = list_jars()
    missing = [f"{one.owner}.{one.name}" for one in equivalents(listing) if one.text is None]
    if missing:
        print(f"{len(missing)} names have no answer in equivalents.toml: {', '.join(missing)}")
    if options.update:
        write_listing(listing)
        PAGE.write_text(page(listing))
        return 0
    if listing != read_listing():
        print(f"{LISTING.name} is not what the jars have. Run: python -m conformance.api --update")
        return 1
    print(f"{len(listing.classes)} classes of Kafka Streams {listing.kafka}, as committed.")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
