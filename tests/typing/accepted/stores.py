"""State stores: what processors and queries see of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, assert_type

import headrace as hr
from headrace import (
    KeyValueStore,
    ProcessorContext,
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyVersionedKeyValueStore,
    ReadOnlyWindowStore,
    SessionStore,
    Stores,
    Streams,
    TimestampedKeyValueStore,
    ValueAndTimestamp,
    VersionedKeyValueStore,
    VersionedRecord,
    Window,
    Windowed,
    WindowStore,
    serdes,
)
from headrace._state.stores.key_value import TypedKeyValueStore, TypedTimestampedKeyValueStore
from headrace._state.stores.session import TypedSessionStore
from headrace._state.stores.versioned import TypedVersionedStore
from headrace._state.stores.window import TypedWindowStore
from headrace._state.views.key_value import KeyValueView, TimestampedKeyValueView
from headrace._state.views.session import SessionView
from headrace._state.views.versioned import VersionedView
from headrace._state.views.window import WindowView
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


def processor(context: ProcessorContext) -> None:
    key_value = context.state_store(values)
    assert_type(key_value, KeyValueStore[str, int])
    assert_type(key_value.get("a"), int | None)
    assert_type(key_value.put_if_absent("a", 1), int | None)
    assert_type(key_value.delete("a"), int | None)
    assert_type(key_value.range("a", None), Iterator[tuple[str, int]])
    assert_type(key_value.prefix_scan("a"), Iterator[tuple[str, int]])
    assert_type(key_value.approximate_num_entries(), int)
    key_value.put_all([("a", 1), ("b", None)])

    timestamped = context.state_store(rows)
    assert_type(timestamped, TimestampedKeyValueStore[int, str])
    assert_type(timestamped.get(1), tuple[str, int] | None)
    assert_type(timestamped.all(), Iterator[tuple[int, tuple[str, int]]])
    timestamped.put(1, "a", 12)

    window = context.state_store(windows)
    assert_type(window, WindowStore[str, int])
    assert_type(window.fetch("a", 0), int | None)
    assert_type(window.fetch("a", 0, 9), Iterator[tuple[int, int]])
    assert_type(window.fetch_range("a", 0, 9), Iterator[tuple[int, int]])
    assert_type(window.fetch_range("a", None, 0, 9), Iterator[tuple[Windowed[str], int]])
    assert_type(window.fetch_all(0, 9), Iterator[tuple[Windowed[str], int]])
    window.put("a", 1, 0)

    session = context.state_store(sessions)
    assert_type(session, SessionStore[str, int])
    assert_type(session.fetch("a"), Iterator[tuple[Windowed[str], int]])
    assert_type(session.fetch_session("a", 0, 9), int | None)
    assert_type(session.find_sessions("a", 0, 9), Iterator[tuple[Windowed[str], int]])
    session.put(Windowed("a", Window(0, 9)), 1)
    session.remove(Windowed("a", Window(0, 9)))

    versioned = context.state_store(versions)
    assert_type(versioned, VersionedKeyValueStore[str, int])
    assert_type(versioned.put("a", 1, 12), int)
    assert_type(versioned.get_as_of("a", 11), VersionedRecord[int] | None)
    assert_type(versioned.delete("a", 13), VersionedRecord[int] | None)

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
