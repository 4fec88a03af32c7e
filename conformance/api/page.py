"""Writes `docs/from-kafka-streams.md` from the listing and the equivalents."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

from conformance.api.equivalents import MISSING, NOT_NEEDED, Equivalent, equivalents
from conformance.api.listing import Listing

PAGE = Path(__file__).parents[2] / "docs" / "from-kafka-streams.md"
_INTRODUCTION = Path(__file__).parent / "introduction.md"
_TITLES = {
    "": "Application and building",
    "kstream": "DSL: `kstream`",
    "processor": "Processors: `processor`",
    "processor.api": "Processors: `processor.api`",
    "processor.assignment": "Assignment: `processor.assignment`",
    "processor.assignment.assignors": "Assignment: `processor.assignment.assignors`",
    "state": "Stores: `state`",
    "query": "Queries: `query`",
    "errors": "Errors: `errors`",
    "test": "Testing: `test`",
    "settings": "Settings",
}


def page(listing: Listing) -> str:
    """The text of the page."""
    found = list(equivalents(listing))
    counts = Counter(one.kind for one in found)
    counted = (
        f"Of {len(found):,} public names of Kafka Streams {listing.kafka}, {counts['present']:,} have an equivalent, "
        f"{counts['not needed']:,} have no meaning here, and {counts['missing']:,} are missing."
    )
    sections = [_INTRODUCTION.read_text().replace("{counts}", counted).strip()]
    for package, title in _TITLES.items():
        rows = [one for one in found if _package(one) == package]
        if rows:
            sections.append(f"## {title}\n\n{_table(rows)}")
    return "\n\n".join(sections) + "\n"


def _package(one: Equivalent) -> str:
    return one.owner if one.owner == "settings" else ".".join(one.owner.split(".")[:-1])


def _table(rows: list[Equivalent]) -> str:
    lines = ["| Kafka Streams | Headrace |", "|---|---|"]
    for owner, members in groupby(rows, lambda one: one.owner):
        by_text: dict[str, list[str]] = {}
        for one in members:
            by_text.setdefault(_text(one), []).append(one.name)
        prefix = "" if owner == "settings" else owner.split(".")[-1].replace("$", ".")
        for text, names in by_text.items():
            named = ", ".join(f"`{name}`" for name in names if name)
            label = f"{prefix}: {named}" if prefix and named else prefix or named
            lines.append(f"| {label} | {text} |")
    return "\n".join(lines)


def _text(one: Equivalent) -> str:
    text = one.text or f"{MISSING}no answer yet"
    for prefix in (NOT_NEEDED, MISSING):
        if text.startswith(prefix):
            return f"**{prefix.removesuffix(': ')}**: {text.removeprefix(prefix)}"
    return text
