"""The numbers of the formats in which data outlives a process, and what an error says about data of a newer version.

A number grows when older versions must not read what this version writes. `docs/project/compatibility.md` says what
each covers, and `tests/formats` reads data of every number.
"""

from __future__ import annotations

STATE_ENTRY = 1  # the entries of the state log
STATE_BLOB = 1  # the heads, deltas and slices of tasks, and how stores lay out the entries in them
REPLICA = 1  # the local copies of stores, in the name of their directory: one of another format is not found
TOPICS_APPENDED = 1  # the commits of embedded topics that every version reads
TOPICS_UPKEEP = 2  # those that consolidate or delete records, or say when to do so
TOPICS_SNAPSHOT = 3  # a commit log of embedded topics that begins with a snapshot
COMMIT_NOTE = 1  # the notes in an application's topic of commits on Kafka


def unknown_format(subject: str, found: int, known: int) -> str:
    """Says that data are not in a format up to `known`, the newest that this version reads."""
    reads = "format 1" if known == 1 else f"formats 1 to {known}"
    if found > known:
        return (
            f"{subject} was written by a newer version of Headrace (format {found}); this version reads {reads}: "
            "upgrade Headrace."
        )
    return f"{subject} has format {found}, which no version of Headrace writes; this version reads {reads}."
