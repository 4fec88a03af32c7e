"""A shorthand for steps: "left|k=a@5" is value a for key k at time 5 in topic left."""

from __future__ import annotations

from conformance.order import Step


def steps(text: str, *, topic: str = "in", key: str = "k") -> list[Step]:
    """The steps of a text of words such as "a@5", "k=a@5", "left|k=a@5", "+10".

    A word without topic or key gets those of the arguments; "_" is a null key or value; "+10" advances the wall clock
    by 10 ms.
    """
    return [_step(word, topic, key) for word in text.split()]


def _step(word: str, topic: str, key: str) -> Step:
    if word.startswith("+"):
        return ["@advance", int(word[1:])]
    rest, timestamp_ms = word.rsplit("@", 1)
    if "|" in rest:
        topic, rest = rest.split("|", 1)
    if "=" in rest:
        key, rest = rest.split("=", 1)
    return [topic, _text(key), _text(rest), int(timestamp_ms)]


def _text(text: str) -> str | None:
    return None if text == "_" else text


def ones(timestamps: str, *, key: str = "k") -> list[Step]:
    """A record with the value v at each of the times; "j12" is one with the key j."""
    listed = []
    for word in timestamps.split():
        digits = word.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        listed.append(["in", word[: -len(digits)] or key, "v", int(digits)])
    return listed


_HEADERS = [["trace", "1"], ["flag", None], ["trace", "2"]]


def with_headers(text: str, *, topic: str = "in", key: str = "k") -> list[Step]:
    """As `steps`, each record with headers, one of which numbers the records."""
    plain = steps(text, topic=topic, key=key)
    return [[*step, [*_HEADERS, ["n", str(number)]]] for number, step in enumerate(plain)]
