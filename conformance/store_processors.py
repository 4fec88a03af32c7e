"""The processors that use stores in all ways, as in the recorder's `StoreReads.java`. They forward what they read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.processors import Contextual

_REACH_MS = 40


class Reversing(Contextual):
    """Puts each record, and lists its store backwards, in parts, and by a prefix."""

    def process(self, record: Any) -> None:
        rows = self.context.state_store("rows")
        rows.put(record.key, record.value)
        read = [rows.reverse_all(), rows.reverse_range("b", "c"), rows.reverse_range(None, "bb"), rows.prefix_scan("b")]
        self.context.forward(record.with_value("|".join(_listed(entries) for entries in read)))


class PuttingAll(Contextual):
    """Puts two rows with timestamps at once, and lists its store forwards and backwards."""

    def process(self, record: Any) -> None:
        rows = self.context.state_store("rows")
        rows.put_all(
            [
                (record.key, (record.value, record.timestamp_ms)),
                (record.key * 2, (record.value, record.timestamp_ms + 1)),
            ]
        )
        read = [rows.range("aa", "c"), rows.reverse_range("aa", "c"), rows.reverse_all()]
        shown = ("".join(f"{key}={value}@{at};" for key, (value, at) in entries) for entries in read)
        self.context.forward(record.with_value("|".join(shown)))


class Bounded(Contextual):
    """Gets the key for "get", puts a value if the key is absent for "if ...", deletes for a null, else puts the value.

    It forwards what it got, and lists its store.
    """

    def process(self, record: Any) -> None:
        rows, value, answer = self.context.state_store("rows"), record.value, None
        if value == "get":
            answer = rows.get(record.key)
        elif value is not None and value.startswith("if "):
            answer = rows.put_if_absent(record.key, value[3:])
        elif value is None:
            answer = rows.delete(record.key)
        else:
            rows.put(record.key, value)
        read = [rows.all(), rows.reverse_range("a", "c"), rows.reverse_all()]
        listed = "|".join(_listed(entries) for entries in read)
        self.context.forward(record.with_value(f"{f.show(answer)}|{rows.approximate_num_entries()}|{listed}"))


class BackwardWindows(Contextual):
    """Puts each record into its window, and reads windows backwards."""

    def __init__(self, size: int) -> None:
        self._size = size

    def process(self, record: Any) -> None:
        windows, key, at = self.context.state_store("windows"), record.key, record.timestamp_ms
        windows.put(key, record.value, at - at % self._size)
        span = max(at - _REACH_MS, 0), at + _REACH_MS
        one = [windows.fetch(key, *span), windows.backward_fetch(key, *span)]
        several = [
            windows.fetch_range("a", "b", *span),
            windows.backward_fetch_range("a", "b", *span),
            windows.backward_fetch_all(*span),
            windows.backward_all(),
        ]
        shown = [*map(_listed, one), *map(_windows, several)]
        self.context.forward(record.with_value("|".join(shown)))


class TimedWindows(Contextual):
    """Puts each record into its window with its timestamp, and reads windows with their timestamps."""

    def __init__(self, size: int) -> None:
        self._size = size

    def process(self, record: Any) -> None:
        windows, key, at = self.context.state_store("windows"), record.key, record.timestamp_ms
        windows.put(key, record.value, at - at % self._size, at)
        found = windows.fetch(key, at - at % self._size)
        now = "_" if found is None else f"{found.value}@{found.timestamp_ms}"
        listed = "".join(
            f"{windowed.key}@{windowed.window.start_ms}={value}@{timestamp_ms};"
            for windowed, (value, timestamp_ms) in windows.backward_all()
        )
        self.context.forward(record.with_value(f"{now}|{listed}"))


class BackwardSessions(Contextual):
    """Puts each record as a session that ends at its timestamp, and finds sessions in all ways."""

    def process(self, record: Any) -> None:
        sessions, key, at = self.context.state_store("sessions"), record.key, record.timestamp_ms
        sessions.put(hr.Windowed(key, hr.Window(at - at % 13, at)), record.value)
        earliest, latest = max(at - _REACH_MS, 0), at + 5
        read = [
            sessions.find_sessions(key, earliest, latest),
            sessions.backward_find_sessions(key, earliest, latest),
            sessions.find_sessions_range("a", "b", earliest, latest),
            sessions.backward_find_sessions_range("a", "b", earliest, latest),
            sessions.backward_fetch(key),
            sessions.backward_fetch_range("a", "b"),
        ]
        shown = (
            "".join(f"{each.key}@{each.window.start_ms}-{each.window.end_ms}={value};" for each, value in entries)
            for entries in read
        )
        self.context.forward(record.with_value("|".join(shown)))


class Historian(Contextual):
    """Puts each record as a version, and reads the history of its key: all, a part, and as of a time."""

    def process(self, record: Any) -> None:
        versions, key, at = self.context.state_store("versions"), record.key, record.timestamp_ms
        put = versions.put(key, record.value, at)
        from_ms, to_ms = max(at - 25, 0), at + 15
        read = [
            versions.versions(key),
            versions.versions(key, descending=True),
            versions.versions(key, from_ms, to_ms),
            versions.versions(key, from_ms, to_ms, descending=True),
            versions.versions(key, to_ms=at),
        ]
        shown = (
            "".join(f"{each.value}@{each.timestamp_ms}-{f.show(each.valid_to_ms)};" for each in entries)
            for entries in read
        )
        valid = (versions.get_as_of(key, from_ms), versions.get(key))
        # In Kafka Streams these two do not say until when the version is valid.
        single = ("" if each is None else f"{each.value}@{each.timestamp_ms}" for each in valid)
        self.context.forward(record.with_value("|".join([str(put), *shown, *single])))


class WithHeaders(Contextual):
    """Stores each record with its headers in a row, a window and a session; forwards what was there before."""

    def process(self, record: Any) -> None:
        key, at, headers = record.key, record.timestamp_ms, record.headers
        rows, windows, sessions = (self.context.state_store(name) for name in ("rows", "windows", "sessions"))
        session = hr.Windowed(key, hr.Window(0, at - at % 10))
        row, window = rows.get(key), windows.fetch(key, at - at % 10)
        before = sessions.fetch_session(key, 0, at - at % 10)
        for stored in (row, window):
            if stored is not None:
                shown = f"{stored.value}@{stored.timestamp_ms}"
                self.context.forward(record.with_value(shown).with_headers(stored.headers))
        if before is not None:
            self.context.forward(record.with_value(before.aggregation).with_headers(before.headers))
        rows.put(key, record.value, at, headers)
        windows.put(key, record.value, at - at % 10, at, headers)
        sessions.put(session, record.value, headers)


def _listed(entries: Iterable[tuple[Any, Any]]) -> str:
    return "".join(f"{key}={value};" for key, value in entries)


def _windows(entries: Iterable[tuple[Any, Any]]) -> str:
    return "".join(f"{windowed.key}@{windowed.window.start_ms}={value};" for windowed, value in entries)
