"""The stores of processors: reverse scans, bounded, timestamped and versioned stores, headers."""

from __future__ import annotations

from functools import partial

import headrace as hr
from conformance import store_processors as p
from conformance.registry import ms, topology
from headrace import Stores, serdes

_SERDES = {"key_serde": serdes.String(), "value_serde": serdes.String()}


@topology("store-reverse")
def reverse(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").process(p.Reversing, stores=[Stores.key_value("rows", **_SERDES)]).to("out")


@topology("store-put-all")
def put_all(builder: hr.StreamsBuilder) -> None:
    rows = Stores.timestamped_key_value("rows", **_SERDES)
    builder.stream("in").process(p.PuttingAll, stores=[rows]).to("out")


@topology("store-lru")
def lru(builder: hr.StreamsBuilder, *, entries: int) -> None:
    rows = Stores.lru_map("rows", max_entries=entries, **_SERDES)
    builder.stream("in").process(p.Bounded, stores=[rows]).to("out")


@topology("store-windows-backward")
def windows_backward(builder: hr.StreamsBuilder, *, size: int, retention: int) -> None:
    windows = Stores.window("windows", retention=ms(retention), window_size=ms(size), **_SERDES)
    builder.stream("in").process(partial(p.BackwardWindows, size), stores=[windows]).to("out")


@topology("store-duplicates-backward")
def duplicates_backward(builder: hr.StreamsBuilder, *, size: int, retention: int) -> None:
    windows = Stores.window("windows", retention=ms(retention), window_size=ms(size), retain_duplicates=True, **_SERDES)
    builder.stream("in").process(partial(p.BackwardWindows, size), stores=[windows]).to("out")


@topology("store-timestamped-windows")
def timestamped_windows(builder: hr.StreamsBuilder, *, size: int, retention: int) -> None:
    windows = Stores.timestamped_window("windows", retention=ms(retention), window_size=ms(size), **_SERDES)
    builder.stream("in").process(partial(p.TimedWindows, size), stores=[windows]).to("out")


@topology("store-sessions-backward")
def sessions_backward(builder: hr.StreamsBuilder, *, retention: int) -> None:
    sessions = Stores.session("sessions", retention=ms(retention), **_SERDES)
    builder.stream("in").process(p.BackwardSessions, stores=[sessions]).to("out")


@topology("store-versions")
def versions(builder: hr.StreamsBuilder, *, history: int) -> None:
    kept = Stores.versioned_key_value("versions", history=ms(history), **_SERDES)
    builder.stream("in").process(p.Historian, stores=[kept]).to("out")


@topology("store-headers")
def headers(builder: hr.StreamsBuilder) -> None:
    stores = [
        Stores.timestamped_key_value_with_headers("rows", **_SERDES),
        Stores.timestamped_window_with_headers("windows", retention=ms(10_000), window_size=ms(10), **_SERDES),
        Stores.session_with_headers("sessions", retention=ms(10_000), **_SERDES),
    ]
    builder.stream("in").process(p.WithHeaders, stores=stores).to("out")
