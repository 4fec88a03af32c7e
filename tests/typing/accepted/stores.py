"""State stores: what processors and queries see of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, assert_type

import headrace as hr
from headrace import (
    AggregationWithHeaders,
    ByteStore,
    KeyValueStore,
    ProcessorContext,
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlySessionStoreWithHeaders,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyTimestampedKeyValueStoreWithHeaders,
    ReadOnlyTimestampedWindowStore,
    ReadOnlyTimestampedWindowStoreWithHeaders,
    ReadOnlyVersionedKeyValueStore,
    ReadOnlyWindowStore,
    SessionStore,
    SessionStoreWithHeaders,
    Stores,
    Streams,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
    ValueAndTimestamp,
    ValueTimestampHeaders,
    VersionedKeyValueStore,
    VersionedRecord,
    Window,
    Windowed,
    WindowStore,
    serdes,
)
from headrace._state.bytes.memory import MemoryStore
from headrace._state.bytes.overlay import OverlayStore
from headrace._state.layouts.lru import LruEntries
from headrace._state.stores.custom import CheckedStore
from headrace._state.stores.key_value import (
    TypedKeyValueStore,
    TypedKeyValueStoreWithHeaders,
    TypedTimestampedKeyValueStore,
)
from headrace._state.stores.session import TypedSessionStore, TypedSessionStoreWithHeaders
from headrace._state.stores.versioned import TypedVersionedStore
from headrace._state.stores.window import TypedTimestampedWindowStore, TypedWindowStore, TypedWindowStoreWithHeaders
from headrace._state.views.key_value import KeyValueView, KeyValueViewWithHeaders, TimestampedKeyValueView
from headrace._state.views.session import SessionView, SessionViewWithHeaders
from headrace._state.views.versioned import VersionedView
from headrace._state.views.window import TimestampedWindowView, WindowView, WindowViewWithHeaders
from headrace.testing import TopologyTestDriver, WritableTimestampedKeyValueStore, WritableVersionedKeyValueStore

day = timedelta(days=1)
long = serdes.Long()
values = Stores.key_value("values", value_serde=long)
rows = Stores.timestamped_key_value("rows", key_serde=serdes.Long(), value_serde=serdes.String())
windows = Stores.window("windows", retention=day, window_size=day, value_serde=long)
sessions = Stores.session("sessions", retention=day, value_serde=long)
uncached = Stores.timestamped_key_value("uncached", value_serde=long, cached=False)
versions = Stores.versioned_key_value("versions", history=day, value_serde=long)
untyped = Stores.key_value("untyped")
rows_with_headers = Stores.timestamped_key_value_with_headers("rows-with-headers", value_serde=long)
timed_windows = Stores.timestamped_window("timed", retention=day, window_size=day, value_serde=long)
windows_with_headers = Stores.timestamped_window_with_headers(
    "windows-with-headers", retention=day, window_size=day, value_serde=long
)
sessions_with_headers = Stores.session_with_headers("sessions-with-headers", retention=day, value_serde=long)
recent = Stores.lru_map("recent", max_entries=9, value_serde=long)


class Words:
    """A store of one's own."""

    def __init__(self, entries: ByteStore) -> None:
        self.entries = entries

    def size(self) -> int:
        assert_type(self.entries.get(b"a"), bytes | None)
        assert_type(self.entries.get_many([b"a"]), list[bytes | None])
        assert_type(self.entries.range(None, b"b"), Iterator[tuple[bytes, bytes]])
        assert_type(self.entries.reverse_range(b"a", None), Iterator[tuple[bytes, bytes]])
        assert_type(self.entries.prefix(b"a"), Iterator[tuple[bytes, bytes]])
        self.entries.put(b"a", b"")
        self.entries.delete(b"a")
        self.entries.put_many([(b"a", None)])
        return self.entries.approximate_len()


def total(stores: tuple[Words, ...]) -> int:
    return sum(store.size() for store in stores)


words = Stores.custom("words", Words)
counted_words = Stores.custom("counted", Words, view=total)


def processor(context: ProcessorContext) -> None:
    key_value = context.state_store(values)
    assert_type(key_value, KeyValueStore[str, int])
    assert_type(key_value.get("a"), int | None)
    assert_type(key_value.put_if_absent("a", 1), int | None)
    assert_type(key_value.delete("a"), int | None)
    assert_type(key_value.range("a", None), Iterator[tuple[str, int]])
    assert_type(key_value.prefix_scan("a"), Iterator[tuple[str, int]])
    assert_type(key_value.reverse_range("a", None), Iterator[tuple[str, int]])
    assert_type(key_value.reverse_all(), Iterator[tuple[str, int]])
    assert_type(key_value.approximate_num_entries(), int)
    key_value.put_all([("a", 1), ("b", None)])

    timestamped = context.state_store(rows)
    assert_type(timestamped, TimestampedKeyValueStore[int, str])
    assert_type(timestamped.get(1), ValueAndTimestamp[str] | None)
    assert_type(timestamped.all(), Iterator[tuple[int, ValueAndTimestamp[str]]])
    assert_type(timestamped.reverse_range(1, 2), Iterator[tuple[int, ValueAndTimestamp[str]]])
    assert_type(timestamped.get_with_timestamp(1), ValueAndTimestamp[str] | None)
    timestamped.put(1, "a", 12)
    timestamped.put_all([(1, ("a", 12)), (2, None)])
    timestamped.put_all(timestamped.all())
    assert_type(timestamped.put_if_absent(1, "a", 12), ValueAndTimestamp[str] | None)
    assert_type(timestamped.delete(1), ValueAndTimestamp[str] | None)

    headed = context.state_store(rows_with_headers)
    assert_type(headed, TimestampedKeyValueStoreWithHeaders[str, int])
    assert_type(headed.get("a"), ValueTimestampHeaders[int] | None)
    assert_type(headed.put_if_absent("a", 1, 12), ValueTimestampHeaders[int] | None)
    assert_type(headed.delete("a"), ValueTimestampHeaders[int] | None)
    headed.put("a", 1, 12, (("trace", b"t"),))
    headed.put_all(headed.all())

    assert_type(context.state_store(recent), KeyValueStore[str, int])
    assert_type(context.state_store(words), Words)
    assert_type(context.state_store(counted_words), Words)

    window = context.state_store(windows)
    assert_type(window, WindowStore[str, int])
    assert_type(window.fetch("a", 0), int | None)
    assert_type(window.fetch("a", 0, 9), Iterator[tuple[int, int]])
    assert_type(window.fetch_range("a", 0, 9), Iterator[tuple[int, int]])
    assert_type(window.fetch_range("a", None, 0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(window.fetch_all(0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(window.backward_fetch("a", 0, 9), Iterator[tuple[int, int]])
    assert_type(window.backward_fetch_range("a", None, 0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(window.backward_fetch_all(0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(window.backward_all(), Iterator[tuple[Windowed[str], int]])
    window.put("a", 1, 0)

    timed = context.state_store(timed_windows)
    assert_type(timed, TimestampedWindowStore[str, int])
    assert_type(timed.fetch("a", 0), ValueAndTimestamp[int] | None)
    timed.put("a", 1, 0, 5)

    headed_window = context.state_store(windows_with_headers)
    assert_type(headed_window, TimestampedWindowStoreWithHeaders[str, int])
    assert_type(headed_window.fetch("a", 0), ValueTimestampHeaders[int] | None)
    headed_window.put("a", 1, 0, 5, (("trace", None),))

    session = context.state_store(sessions)
    assert_type(session, SessionStore[str, int])
    assert_type(session.fetch("a"), Iterator[tuple[Windowed[str], int]])
    assert_type(session.fetch_session("a", 0, 9), int | None)
    assert_type(session.find_sessions("a", 0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(session.backward_fetch("a"), Iterator[tuple[Windowed[str], int]])
    assert_type(session.backward_fetch_range("a", None), Iterator[tuple[Windowed[str], int]])
    assert_type(session.backward_find_sessions("a", 0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(session.find_sessions_range("a", None, 0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(session.backward_find_sessions_range(None, "b", 0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(session.find_sessions_by_end(0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(session.backward_all(), Iterator[tuple[Windowed[str], int]])
    session.put(Windowed("a", Window(0, 9)), 1)
    session.remove(Windowed("a", Window(0, 9)))

    headed_session = context.state_store(sessions_with_headers)
    assert_type(headed_session, SessionStoreWithHeaders[str, int])
    assert_type(headed_session.fetch_session("a", 0, 9), AggregationWithHeaders[int] | None)
    headed_session.put(Windowed("a", Window(0, 9)), 1, (("trace", b"t"),))
    headed_session.remove(Windowed("a", Window(0, 9)))

    versioned = context.state_store(versions)
    assert_type(versioned, VersionedKeyValueStore[str, int])
    assert_type(versioned.put("a", 1, 12), int)
    assert_type(versioned.get_as_of("a", 11), VersionedRecord[int] | None)
    assert_type(versioned.delete("a", 13), VersionedRecord[int] | None)
    assert_type(versioned.versions("a", 0, descending=True), Iterator[VersionedRecord[int]])
    assert_type([version.valid_to_ms for version in versioned.versions("a")], list[int | None])
    assert_type(versioned.reverse_all(), Iterator[tuple[str, VersionedRecord[int]]])

    assert_type(context.state_store("values"), Any)
    annotated: KeyValueStore[str, int] = context.state_store("values")
    assert_type(annotated.get("a"), int | None)
    assert_type(context.state_store(untyped), KeyValueStore[str, Any])


def queries(app: Streams, driver: TopologyTestDriver) -> None:
    assert_type(app.store(values), ReadOnlyKeyValueStore[str, int])
    assert_type(app.store(rows), ReadOnlyTimestampedKeyValueStore[int, str])
    assert_type(app.store(windows), ReadOnlyWindowStore[str, int])
    assert_type(app.store(sessions), ReadOnlySessionStore[str, int])
    assert_type(app.store(versions), ReadOnlyVersionedKeyValueStore[str, int])
    assert_type(app.store("values"), Any)
    assert_type(app.store(rows).with_timestamps(), ReadOnlyKeyValueStore[int, ValueAndTimestamp[str]])
    assert_type(app.store(rows_with_headers), ReadOnlyTimestampedKeyValueStoreWithHeaders[str, int])
    assert_type(app.store(rows_with_headers).with_headers().get("a"), ValueTimestampHeaders[int] | None)
    assert_type(app.store(timed_windows), ReadOnlyTimestampedWindowStore[str, int])
    assert_type(app.store(timed_windows).with_timestamps().fetch("a", 0), ValueAndTimestamp[int] | None)
    assert_type(app.store(windows_with_headers), ReadOnlyTimestampedWindowStoreWithHeaders[str, int])
    assert_type(app.store(windows_with_headers).with_headers().fetch("a", 0), ValueTimestampHeaders[int] | None)
    assert_type(app.store(sessions_with_headers), ReadOnlySessionStoreWithHeaders[str, int])
    assert_type(
        app.store(sessions_with_headers).with_headers().fetch("a"),
        Iterator[tuple[Windowed[str], AggregationWithHeaders[int]]],
    )
    assert_type(app.store(recent), ReadOnlyKeyValueStore[str, int])
    assert_type(app.store(words), tuple[Words, ...])
    assert_type(app.store(counted_words), int)
    assert_type(app.store(versions).versions("a", to_ms=9), Iterator[VersionedRecord[int]])
    assert_type(app.store(versions).reverse_all(), Iterator[tuple[str, int]])
    assert_type(driver.store(values), KeyValueStore[str, int])
    assert_type(driver.store(values, partition=2), KeyValueStore[str, int])
    assert_type(driver.store(rows), WritableTimestampedKeyValueStore[int, str])
    assert_type(driver.store(rows).put_if_absent(1, "a", 12), str | None)
    assert_type(driver.store(rows).delete(1), str | None)
    driver.store(rows).put(1, "a", 12)
    assert_type(driver.store(windows), WindowStore[str, int])
    assert_type(driver.store(sessions), SessionStore[str, int])
    assert_type(driver.store(versions), WritableVersionedKeyValueStore[str, int])
    assert_type(driver.store(versions).put("a", 1, 12), int)
    driver.store(versions).delete("a", 13)
    assert_type(driver.store("values"), Any)
    assert_type(driver.store(rows).get(1), str | None)
    assert_type(driver.store(rows).get_with_timestamp(1), ValueAndTimestamp[str] | None)
    assert_type(driver.store(windows).fetch("a", 0), int | None)
    assert_type(driver.store(sessions).all(), Iterator[tuple[Windowed[str], int]])
    assert_type(driver.store(versions).get_as_of("a", 11), int | None)
    annotated: ReadOnlyKeyValueStore[str, int] = driver.store("values")
    assert_type(list(annotated.all()), list[tuple[str, int]])


def spec(store: hr.StoreSpec[KeyValueStore[str, int]], context: ProcessorContext) -> int | None:
    return context.state_store(store).get("a")


print(spec(values, NotImplemented))


def implementations(
    key_value: TypedKeyValueStore[str, int],
    timestamped: TypedTimestampedKeyValueStore[str, int],
    window: TypedWindowStore[str, int],
    session: TypedSessionStore[str, int],
    versioned: TypedVersionedStore[str, int],
) -> tuple[
    KeyValueStore[str, int],
    TimestampedKeyValueStore[str, int],
    WindowStore[str, int],
    SessionStore[str, int],
    VersionedKeyValueStore[str, int],
]:
    return key_value, timestamped, window, session, versioned


def byte_stores(
    memory: MemoryStore, overlay: OverlayStore, lru: LruEntries, checked: CheckedStore
) -> tuple[ByteStore, ByteStore, ByteStore, ByteStore]:
    return memory, overlay, lru, checked


def implementations_with_more(
    timed: TypedTimestampedWindowStore[str, int],
    row: TypedKeyValueStoreWithHeaders[str, int],
    window: TypedWindowStoreWithHeaders[str, int],
    session: TypedSessionStoreWithHeaders[str, int],
) -> tuple[
    TimestampedWindowStore[str, int],
    TimestampedKeyValueStoreWithHeaders[str, int],
    TimestampedWindowStoreWithHeaders[str, int],
    SessionStoreWithHeaders[str, int],
]:
    return timed, row, window, session


def views_with_more(
    timed: TimestampedWindowView[str, int],
    row: KeyValueViewWithHeaders[str, int],
    window: WindowViewWithHeaders[str, int],
    session: SessionViewWithHeaders[str, int],
) -> tuple[
    ReadOnlyTimestampedWindowStore[str, int],
    ReadOnlyTimestampedKeyValueStoreWithHeaders[str, int],
    ReadOnlyTimestampedWindowStoreWithHeaders[str, int],
    ReadOnlySessionStoreWithHeaders[str, int],
]:
    return timed, row, window, session


def views(
    key_value: KeyValueView[str, int],
    timestamped: TimestampedKeyValueView[str, int],
    window: WindowView[str, int],
    session: SessionView[str, int],
    versioned: VersionedView[str, int],
) -> tuple[
    ReadOnlyKeyValueStore[str, int],
    ReadOnlyTimestampedKeyValueStore[str, int],
    ReadOnlyWindowStore[str, int],
    ReadOnlySessionStore[str, int],
    ReadOnlyVersionedKeyValueStore[str, int],
]:
    return key_value, timestamped, window, session, versioned
