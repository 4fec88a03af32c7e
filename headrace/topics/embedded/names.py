"""Names of topics and numbers of partitions: which ones are valid, and which exist."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headrace.errors import TopicError, known_names, nearest

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def check_partition(topic: str, partition: int, partitions: int) -> None:
    """Refuses a partition that a topic does not have."""
    if not 0 <= partition < partitions:
        message = f"Topic {topic!r} has no partition {partition}; it has {partitions}, counted from 0."
        raise TopicError(message)


def check_topic(topic: str, partitions: int) -> None:
    """Refuses a name or a number of partitions that no topic can have."""
    if not isinstance(topic, str) or not _NAME.fullmatch(topic) or topic in (".", ".."):
        message = (
            f"{topic!r} is not a topic name: it needs 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', "
            "and is neither '.' nor '..'."
        )
        raise TopicError(message)
    if not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 1:
        message = f"Topic {topic!r} cannot have {partitions!r} partitions; pass an integer of 1 or more."
        raise TopicError(message)


def unknown_topic(topic: str, known: Iterable[str]) -> TopicError:
    """The error for a topic that is not among the known ones."""
    names = list(known)
    return TopicError(
        f"Topic {topic!r} does not exist.{nearest(topic, names)} Known topics: {known_names(names)}. Create it first."
    )
