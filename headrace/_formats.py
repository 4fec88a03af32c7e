"""The format numbers of stored data, and the error message for data in an unknown format.

A number is increased when older versions must not read what this version writes. `docs/project/compatibility.md` says
what each number covers, and `tests/formats` reads data of every format.
"""

from __future__ import annotations

STATE_ENTRY = 1  # the entries of the state log
STATE_BLOB = 1  # the heads, deltas and slices of tasks, and how stores lay out the entries in them
REPLICA = 1  # local copies of stores; the number is part of their directory's name, so other formats are ignored
TOPICS_APPENDED = 1  # the commits of embedded topics that every version reads
TOPICS_UPKEEP = 2  # commits that consolidate or delete records, or say when to do so
TOPICS_SNAPSHOT = 3  # a commit log of embedded topics that begins with a snapshot
COMMIT_NOTE = 1  # the notes in an application's topic of commits on Kafka


def unknown_format(subject: str, found: int, known: int) -> str:
    """Returns the error message for `subject`, data in format `found`; this version reads formats up to `known`."""
    reads = "format 1" if known == 1 else f"formats 1 to {known}"
    if found > known:
        return (
            f"{subject} was written by a newer version of Headrace (format {found}); this version reads {reads}: "
            "upgrade Headrace."
        )
    return f"{subject} has format {found}, which no version of Headrace writes; this version reads {reads}."
