"""Reads records from lines of text, `key:value` or JSON objects. Errors name the line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from headrace.cli.errors import CommandError
from headrace.cli.output.values import from_json, from_text
from headrace.errors import StreamsError
from headrace.model.record import Record
from headrace.serdes import Serde

AnyRecord = Record[Any, Any]


class JsonLine(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a JSON line. `partition` and `offset`, which `consume` prints, are accepted and ignored."""

    key: Any = None
    value: Any = None
    timestamp_ms: int | None = None
    headers: dict[str, str | None] = {}
    partition: int | None = None
    offset: int | None = None


_decode = msgspec.json.Decoder(JsonLine).decode


def text_records(
    lines: Iterable[str], separator: str, key_serde: Serde[Any], value_serde: Serde[Any]
) -> Iterator[AnyRecord]:
    """Reads records from `key<separator>value` lines, split at the first separator."""

    def record(line: str) -> AnyRecord:
        key, found, value = line.partition(separator)
        if not found:
            message = f"there is no {separator!r} in {line!r}. Write key{separator}value, or choose a --separator."
            raise CommandError(message)
        return Record(from_text(key, key_serde), from_text(value, value_serde))

    return _each(lines, record)


def json_records(lines: Iterable[str], key_serde: Serde[Any], value_serde: Serde[Any]) -> Iterator[AnyRecord]:
    """Reads records from lines like `{"key": "alice", "value": 1, "timestamp_ms": 12, "headers": {"trace": "7"}}`."""

    def record(line: str) -> AnyRecord:
        try:
            read = _decode(line)
        except msgspec.MsgspecError as error:
            message = f'{error}. A line looks like {{"key": "alice", "value": 1, "timestamp_ms": 12}}.'
            raise CommandError(message) from error
        headers = tuple((name, None if text is None else text.encode()) for name, text in read.headers.items())
        return Record(from_json(read.key, key_serde), from_json(read.value, value_serde), read.timestamp_ms, headers)

    return _each(lines, record)


def _each(lines: Iterable[str], make: Callable[[str], AnyRecord]) -> Iterator[AnyRecord]:
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if not text:
            continue
        try:
            yield make(text)
        except StreamsError as error:
            message = f"Line {number}: {error}"
            raise CommandError(message) from error
