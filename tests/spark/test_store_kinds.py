"""Every kind of store can be read while its application runs, and after it has stopped."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

import headrace as hr
from headrace import Window, Windowed, serdes
from tests.support.runtimes import SparkRuntime

SERDES = {"key_serde": serdes.String(), "value_serde": serdes.Long()}
LONG = timedelta(days=1)
STORES = [
    hr.Stores.key_value("plain", **SERDES),
    hr.Stores.timestamped_key_value("timed", **SERDES),
    hr.Stores.window("windows", retention=LONG, window_size=timedelta(milliseconds=10), **SERDES),
    hr.Stores.session("sessions", retention=LONG, **SERDES),
    hr.Stores.versioned_key_value("versions", history=LONG, **SERDES),
    hr.Stores.lru_map("recent", max_entries=1, **SERDES),
    hr.Stores.timestamped_key_value_with_headers("headed", **SERDES),
    hr.Stores.timestamped_window("timed-windows", retention=LONG, window_size=timedelta(milliseconds=10), **SERDES),
    hr.Stores.custom(
        "bytes", lambda entries: entries, view=lambda parts: sorted(key for p in parts for key in keys(p))
    ),
]


def keys(entries):
    return [key for key, _ in entries.reverse_range(None, None)]


class Keeping(hr.Processor):
    """Puts every record into a store of each kind."""

    def init(self, context):
        self.stores = [context.state_store(store.name) for store in STORES]

    def process(self, record):
        plain, timed, windows, sessions, versions, recent, headed, timed_windows, raw = self.stores
        key, value, at = record.key, record.value, record.timestamp_ms
        plain.put(key, value)
        timed.put(key, value, at)
        windows.put(key, value, at // 10 * 10)
        sessions.put(Windowed(key, Window(at, at + 5)), value)
        versions.put(key, value, at)
        recent.put(key, value)
        headed.put(key, value, at, (("at", str(at).encode()),))
        timed_windows.put(key, value, at // 10 * 10, at)
        raw.put(key.encode(), b"")


def topology():
    builder = hr.StreamsBuilder()
    builder.stream("in", value_serde=serdes.Long()).process(Keeping, stores=STORES)
    return builder.build()


def contents(app):
    plain, timed, windows, sessions, versions, recent, headed, timed_windows, raw = map(app.store, STORES)
    return {
        "plain": list(plain.all()),
        "a to b": list(plain.range("a", "b")),
        "prefix c": list(plain.prefix_scan("c")),
        "timed": [(key, *timed.get_with_timestamp(key)) for key, _ in timed.all()],
        "windows": [(str(key), value) for key, value in windows.all()],
        "windows of a": list(windows.fetch("a", 0, 20)),
        "window of a": windows.fetch("a", 10),
        "sessions of b": [(str(key), value) for key, value in sessions.fetch("b")],
        "plain backwards": list(plain.reverse_range("b", None)),
        "timed backwards": list(timed.with_timestamps().reverse_all()),
        "windows backwards": [(str(key), value) for key, value in windows.backward_all()],
        "timed windows of a": list(timed_windows.with_timestamps().backward_fetch("a", 0, 20)),
        "sessions backwards": [str(key) for key, _ in sessions.backward_fetch_range("a", "b")],
        "versions of a": list(versions.versions("a")),
        "recent": set(recent.all()) <= {("a", 3), ("b", 4), ("c", 5)} and len(list(recent.all())) > 0,
        "headed": headed.with_headers().get("b"),
        "bytes": raw,
        "a now, at 14, at 3": [versions.get("a"), versions.get_as_of("a", 14), versions.get_as_of("a", 3)],
    }


EXPECTED = {
    "plain": [("a", 3), ("b", 4), ("c", 5)],
    "a to b": [("a", 3), ("b", 4)],
    "prefix c": [("c", 5)],
    "timed": [("a", 3, 15), ("b", 4, 7), ("c", 5, 22)],
    "windows": [("[a@0/10]", 1), ("[a@10/20]", 3), ("[b@0/10]", 4), ("[c@20/30]", 5)],
    "windows of a": [(0, 1), (10, 3)],
    "window of a": 3,
    "sessions of b": [("[b@7/12]", 4)],
    "plain backwards": [("c", 5), ("b", 4)],
    "timed backwards": [("c", (5, 22)), ("b", (4, 7)), ("a", (3, 15))],
    "windows backwards": [("[c@20/30]", 5), ("[b@0/10]", 4), ("[a@10/20]", 3), ("[a@0/10]", 1)],
    "timed windows of a": [(10, (3, 15)), (0, (1, 5))],
    "sessions backwards": ["[b@7/12]", "[a@15/20]", "[a@5/10]"],
    "versions of a": [(1, 5), (3, 15)],
    "recent": True,
    "headed": (4, 7, (("at", b"7"),)),
    "bytes": [b"a", b"b", b"c"],
    "a now, at 14, at 3": [3, 1, None],
}


@pytest.mark.slow
@pytest.mark.spark
def test_every_kind_can_be_read_while_the_application_runs_and_after_it_stopped(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path, partitions=3)
    runtime.produce(topology(), [("in", "a", 1, 5), ("in", "a", 3, 15), ("in", "b", 4, 7), ("in", "c", 5, 22)])
    app = hr.Streams(topology(), runtime.config(), spark=spark)
    app.start()
    try:
        deadline = time.monotonic() + 120
        while (seen := contents(app)) != EXPECTED and time.monotonic() < deadline:
            pass
        assert seen == EXPECTED
    finally:
        app.stop()
    assert contents(hr.Streams(topology(), runtime.config(), spark=spark)) == EXPECTED
