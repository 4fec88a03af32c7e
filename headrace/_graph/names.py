"""Names of nodes, stores and topics: generates Kafka Streams' names, and checks the user's."""

from __future__ import annotations

import re

from headrace.errors import TopologyError

_ALLOWED = re.compile(r"[A-Za-z0-9._-]{1,249}")
_GENERATED = re.compile(r"[A-Z]+(-[A-Z]+)*-\d{10}$")


class NameGenerator:
    """Generates the names of one builder. As in Kafka Streams, a user's name for a node uses up an index, too."""

    def __init__(self) -> None:
        self._next = 0

    def generate(self, prefix: str) -> str:
        index = self._next
        self._next += 1
        return f"{prefix}{index:010d}"

    def skip(self, count: int) -> None:
        """Skips indices, as Kafka Streams does for nodes that it does not add."""
        self._next += count

    def node(self, given: str | None, prefix: str) -> str:
        generated = self.generate(prefix)
        return generated if given is None else checked_name(given, "node")

    def store(self, given: str | None, prefix: str) -> str:
        return self.generate(f"{prefix}STATE-STORE-") if given is None else checked_name(given, "store")


def checked_name(name: str, what: str) -> str:
    """Returns the name if Kafka allows it for topics, else raises an error; `what` is what it names, e.g. "store"."""
    if not isinstance(name, str) or not _ALLOWED.fullmatch(name) or name in (".", ".."):
        message = (
            f"{name!r} cannot name a {what}: allowed are 1-249 ASCII letters, digits, '.', '_' and '-', "
            "but not '.' or '..' alone."
        )
        raise TopologyError(message)
    return name


def checked_processor_name(name: str) -> str:
    """Returns the name if it is allowed for a node of a `Topology`: any text in one line, as in Kafka Streams."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        message = f"{name!r} cannot name a node: allowed is any text in one line, with at least one visible character."
        raise TopologyError(message)
    return name


def is_generated(name: str) -> bool:
    """Whether a name came from the generator rather than from the user."""
    return _GENERATED.fullmatch(name) is not None
