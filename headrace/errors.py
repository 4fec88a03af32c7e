"""The errors of the library. Each message says what is wrong, what is allowed, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from headrace._secrets import hide_in_text


class StreamsError(Exception):
    """Base of all errors raised by Headrace."""


class TopologyError(StreamsError, ValueError):
    """A topology is invalid; raised while it is built, before any record is read."""


class ArgumentError(TopologyError, TypeError):
    """A method was called with an unknown argument; the message lists its arguments."""


class UnknownNameError(StreamsError, AttributeError):
    """A public class has no such attribute; the message names the one that was probably meant."""


class ConfigError(StreamsError, ValueError):
    """A setting is unknown, missing, or has a value that is not allowed. The message hides passwords in values."""

    def __init__(self, message: str) -> None:
        super().__init__(hide_in_text(message))


class SerdeError(StreamsError, ValueError):
    """A key or value cannot be turned into bytes, or bytes cannot be turned back."""


class RegistryError(SerdeError):
    """A schema registry does not answer, or rejects a schema. Error handlers never see it: the record may be valid."""


class TopicError(StreamsError):
    """A topic is unknown, or its records cannot be read."""


class RoutingError(TopicError):
    """A record cannot be written to the topic or the partition that a function chose for it."""


class NewPartitionsError(TopicError):
    """Partitions of an input topic, or the topics that match a pattern, changed. The query restarts to read them."""


class StateError(StreamsError):
    """Stored state is missing, damaged, too large, or belongs to another application; or there is no such store.

    Error handlers are not called for it: the application stops.
    """


class ProcessingError(StreamsError):
    """A user function failed on a record; the message names the operator, the record, and the line that raised."""


def known_names(names: Iterable[str]) -> str:
    """Returns names as error messages list them: sorted, quoted, separated by commas."""
    listed = sorted(names)
    return ", ".join(repr(name) for name in listed) if listed else "none"


def nearest(name: str, names: Iterable[str], similarity: float = 0.6) -> str:
    """Returns ` Did you mean 'x'?` for the most similar known name, or an empty text if none is similar enough.

    `similarity` is the ratio, 0 to 1, from which on names count as similar.
    """
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=similarity)
    return f" Did you mean {close[0]!r}?" if close else ""


def text_of(error: BaseException, limit: int = 10_000) -> str:
    """Returns the message of an error, cut off after `limit` characters; a note in its place if `str(error)` fails."""
    try:
        text = str(error)
    except Exception as failure:
        return f"(its text cannot be shown: {type(failure).__name__})"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
