"""Every error of the library derives from `StreamsError` and says what was refused, what is allowed, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StreamsError(Exception):
    """Base of all errors raised by Headrace."""


class TopologyError(StreamsError, ValueError):
    """A topology cannot be built as asked; raised while building, before any record is read."""


class ConfigError(StreamsError, ValueError):
    """A setting is unknown, missing, or has a value that is not allowed."""


class SerdeError(StreamsError, ValueError):
    """A key or value cannot be turned into bytes, or bytes cannot be turned back."""


class RegistryError(SerdeError):
    """A schema registry cannot be asked, or refuses a schema; the record that needed it may be fine."""


class TopicError(StreamsError):
    """A topic is unknown, or what it holds cannot be read."""


class NewPartitionsError(TopicError):
    """A topic has other partitions than when the application began to read it; its next start reads those."""


class StateError(StreamsError):
    """Stored state is missing, damaged, too large, or belongs to something else. No error handler passes over it."""


class ProcessingError(StreamsError):
    """A user function raised while a record was processed; names the operator, the record and the user's line."""


def known_names(names: Iterable[str]) -> str:
    """The names as an error message lists them."""
    listed = sorted(names)
    return ", ".join(repr(name) for name in listed) if listed else "none"


def nearest(name: str, names: Iterable[str]) -> str:
    """A ` Did you mean 'x'?` for a name close to a known one, else nothing."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
