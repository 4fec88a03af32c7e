"""`headrace topics consume`: prints the records of a topic, one per line."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeAlias

from rich.text import Text

from headrace import serdes
from headrace.cli.output.console import console
from headrace.cli.output.values import as_json, format_time, format_value
from headrace.errors import SerdeError
from headrace.serdes import Serde
from headrace.topics.embedded.topics import LocalTopics
from headrace.topics.kafka.topics import KafkaTopics
from headrace.topics.records import AnyRecord

_POLL_S = 0.2
_HEAD = f"{'part':>4} {'offset':>8}  {'timestamp (UTC)':<23}  {'key':<16}  value"

# The offset of a record, and the record, with its key and value as bytes.
StoredRecord: TypeAlias = tuple[int, AnyRecord]


class FieldReader:
    """Deserializes the keys or the values of records; `part` is "key" or "value".

    Without a serde chosen by the user, data that the default serde cannot read is shown as bytes, with a hint.
    """

    def __init__(self, part: str, chosen: Serde[Any] | None, default: Serde[Any]) -> None:
        self._part = part
        self._chosen = chosen
        self._serde = chosen or default
        self.hint: str | None = None

    def read(self, data: bytes | None, *, strict: bool) -> Any:
        try:
            return self._serde.deserialize(data)
        except SerdeError as error:
            hint = f"Choose the serde of the {self._part}s with --{self._part}-serde{_suggest_serde(self._part, data)}."
            if strict or self._chosen is not None:
                message = f"{str(error).removesuffix('.')}. {hint}"
                raise SerdeError(message) from error
            self.hint = hint
            return data


def read_stored_records(
    topics: LocalTopics | KafkaTopics, topic: str, *, follow: bool, from_end: bool
) -> Iterator[StoredRecord]:
    """Yields the records of a topic, by partition and offset.

    With `from_end`, skips the records that exist now. With `follow`, waits for more records and never ends.
    """
    as_bytes = serdes.Bytes()
    description = topics.describe(topic)
    positions = description.end_offsets if from_end else description.begin_offsets
    while True:
        ends = topics.describe(topic).end_offsets
        for partition, (start, end) in enumerate(zip(positions, ends, strict=True)):
            yield from topics._records(topic, partition, start, end, as_bytes, as_bytes)
        positions = ends
        if not follow:
            return
        sys.stdout.flush()
        time.sleep(_POLL_S)


def print_readable(records: Iterator[StoredRecord], keys: FieldReader, values: FieldReader, limit: int | None) -> None:
    screen = console()
    if screen.is_terminal:
        screen.print(Text(_HEAD, style="bold"))
    count = 0
    for offset, record in islice(records, limit):
        count += 1
        assert record.timestamp_ms is not None
        position = f"{record.partition:>4} {offset:>8}  {format_time(record.timestamp_ms):<23}"
        key, value = (
            format_value(keys.read(record.key, strict=False)),
            format_value(values.read(record.value, strict=False)),
        )
        headers = "".join(f"  [{name}={_one_line(_text(data))}]" for name, data in record.headers)
        if screen.is_terminal:
            line = Text.assemble((position, "dim"), "  ", (f"{key:<16}", "cyan"), "  ", value, (headers, "dim"))
            screen.print(line, soft_wrap=True)
        else:
            print(f"{position}  {key:<16}  {value}{headers}")
    for hint in filter(None, (keys.hint, values.hint)):
        console(stderr=True).print(hint)
    if not count:
        console(stderr=True).print("No records.")


def print_json(records: Iterator[StoredRecord], keys: FieldReader, values: FieldReader, limit: int | None) -> None:
    for offset, record in islice(records, limit):
        line = {
            "partition": record.partition,
            "offset": offset,
            "timestamp_ms": record.timestamp_ms,
            "key": keys.read(record.key, strict=True),
            "value": values.read(record.value, strict=True),
            "headers": {name: None if data is None else _text(data) for name, data in record.headers},
        }
        print(as_json(line))


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode(errors="backslashreplace")


def _one_line(text: str) -> str:
    """The last line of a text, which says most in a stack trace."""
    lines = text.splitlines()
    return text if len(lines) < 2 else f"… {lines[-1]}"


def _suggest_serde(part: str, data: bytes | None) -> str:
    data = data or b""
    sizes = {8: " Long or Double", 4: " Int or Float", 2: " Short", 1: " Bool"}
    if len(data) in sizes:
        return sizes[len(data)]
    if part == "value" or not _is_time(data[-8:]):
        return ""
    if _is_time(data[-16:-8]):
        return " SessionWindowedKey, if they are in session windows"
    return " WindowedKey:60000, if they are in windows of a minute"


def _is_time(data: bytes) -> bool:
    """Whether these may be the 8 bytes of a timestamp: the first two are zero until the year 10,000."""
    return len(data) == 8 and data[:2] == bytes(2)
