"""Streams joined with tables that are built from them, also after a repartition.

Such a sub-topology runs in several stages, of which later ones have copies of tables. The expected results are those of
the Java test driver, except for lookups of expired windows.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import PendingTask, Record, Stores, StreamsBuilder, Suppressed, Window, Windowed, serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import DriverRuntime
from tests.support.steps import each_step, slashed

MS = timedelta(milliseconds=1)


def test_a_record_is_joined_with_the_row_it_has_just_put(runtime):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.join(stream.to_table(), slashed).to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "a", 1), ("in", "k", "b", 2), ("in", "j", "c", 3)])
    assert outputs["out"] == [Record("k", "a/a", 1), Record("k", "b/b", 2), Record("j", "c/c", 3)]


def test_a_record_is_joined_with_the_count_of_the_records_before_it():
    builder = StreamsBuilder()
    stream = builder.stream("in")
    counts = stream.select_key(lambda key, value: key).group_by_key().count()
    stream.left_join(counts, slashed).to("out")
    outputs, _ = DriverRuntime().run(builder.build(), [("in", "k", "a", 1), ("in", "k", "b", 2), ("in", "k", "c", 3)])
    assert outputs["out"] == [Record("k", "a/None", 1), Record("k", "b/1", 2), Record("k", "c/2", 3)]


def test_rows_and_records_are_relayed_to_the_next_stage_in_their_order():
    """The table is updated before the record is joined with it, except by records that pass the repartition first."""
    builder = StreamsBuilder()
    letters = builder.stream("in").flat_map_values(list)
    rows = letters.to_table()
    loud = letters.map_values(lambda value: f"{value}!")
    counts = letters.select_key(lambda key, value: key).group_by_key().count()
    loud.left_join(rows.left_join(counts, slashed), slashed).to("out")
    assert each_step(builder.build(), [("in", "k", "ab", 1), ("in", "k", "cd", 2)]) == [
        ["k=a!/a/None@1", "k=b!/b/None@1"],
        ["k=c!/c/2@2", "k=d!/d/2@2"],
    ]


def test_a_row_is_stored_before_a_result_with_an_earlier_timestamp_is_joined_with_it(runtime):
    """The record that closes a window is in the table when the count of that window arrives there."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    rows = stream.to_table()
    counts = stream.group_by_key().windowed_by(hr.TimeWindows.of(10 * MS)).count()
    final = counts.suppress(Suppressed.until_window_closes()).to_stream().select_key(lambda key, value: key.key)
    final.join(rows, slashed).to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "a", 1), ("in", "k", "b", 5), ("in", "k", "c", 20)])
    assert outputs["out"] == [Record("k", "2/c", 5)]


def test_changes_of_a_table_are_joined_with_their_own_row():
    builder = StreamsBuilder()
    table = builder.table("in")
    table.to_stream().map(lambda key, value: (key, value)).join(table, slashed).to("out")
    outputs, _ = DriverRuntime().run(builder.build(), [("in", "k", "a", 1), ("in", "j", "b", 2), ("in", "k", "c", 3)])
    assert outputs["out"] == [Record("k", "a/a", 1), Record("j", "b/b", 2), Record("k", "c/c", 3)]


def test_rows_of_a_join_with_one_side_in_an_earlier_stage_are_looked_up():
    builder = StreamsBuilder()
    table = builder.table("in")
    counts = table.to_stream().map(lambda key, value: (key, value)).group_by_key().count()
    counts.to_stream().left_join(table.join(counts, slashed), slashed).to("out")
    steps = [("in", "k", "a", 1), ("in", "k", "b", 5), ("in", "j", "c", 20)]
    assert each_step(builder.build(), steps, restarts=True) == [["k=1/a/1@1"], ["k=2/b/2@5"], ["j=1/c/1@20"]]


def test_rows_of_a_suppressed_table_in_an_earlier_stage_are_looked_up():
    """A row without an emitted value is missing, where Kafka Streams has a count of 0 (quirk 4)."""
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count()
    held = counts.suppress(Suppressed.until_time_limit(10 * MS))
    counts.to_stream().repartition().left_join(held, slashed).to("out")
    steps = [("in", "k", "", 1), ("in", "k", "", 5), ("in", "j", "", 20), ("in", "k", "", 21), ("in", "k", "", 25)]
    assert each_step(builder.build(), steps, restarts=True) == [
        ["k=1/None@1"],
        ["k=2/None@5"],
        ["j=1/None@20"],
        ["k=3/2@21"],
        ["k=4/2@25"],
    ]


def test_a_join_of_versioned_tables_is_not_versioned():
    """The third row has an earlier timestamp than the second, but still replaces it."""
    builder = StreamsBuilder()
    versioned = builder.table("versioned", store=Stores.versioned_key_value("versions", history=1000 * MS))
    both = versioned.join(builder.table("other"), slashed)
    both.to_stream().repartition().left_join(both, lambda change, row: f"{change} {row}").to("out")
    steps = [("versioned", "k", "v", 50), ("other", "k", "o1", 10), ("other", "k", "o2", 200), ("other", "k", "o3", 20)]
    assert each_step(builder.build(), steps) == [[], ["k=v/o1 v/o1@50"], ["k=v/o2 v/o2@200"], ["k=v/o3 v/o3@50"]]


def lookups(windows, key_serde):
    """Windowed counts, looked up by their own changes, and by records of the topic `ask` that name a window."""
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(windows).count()
    asking = builder.stream("ask").map(lambda key, value: (Windowed(key, Window(*value)), "asked"))
    changes = counts.to_stream().map_values(lambda count: "gone" if count is None else str(count))
    changes.merge(asking).repartition(key_serde=key_serde).left_join(counts, slashed).to("out")
    return builder.build()


@pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])
def test_a_copy_of_windowed_counts_expires_windows(tracking):
    topology = lookups(hr.TimeWindows.of(10 * MS, grace=20 * MS), serdes.WindowedKey(serdes.String(), 10 * MS))
    steps = [
        ("in", "k", "", 1),
        ("in", "k", "", 5),
        ("in", "k", "", 20),
        ("in", "k", "", 2),
        ("ask", "k", [0, 10], 30),
        ("in", "k", "", 41),
        ("ask", "k", [0, 10], 42),
        ("ask", "k", [20, 30], 42),
    ]
    assert each_step(topology, steps, allow_stream_time_key_tracking=tracking) == [
        ["[k@0/10]=1/1@1"],
        ["[k@0/10]=2/2@5"],
        ["[k@20/30]=1/1@20"],
        ["[k@0/10]=3/3@5"],
        ["[k@0/10]=asked/3@30"],
        ["[k@40/50]=1/1@41"],
        ["[k@0/10]=asked/None@42"],
        ["[k@20/30]=asked/1@42"],
    ]


@pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])
def test_a_copy_of_session_counts_deletes_merged_sessions_and_expires_old_ones(tracking):
    topology = lookups(hr.SessionWindows.of(10 * MS, grace=40 * MS), serdes.SessionWindowedKey(serdes.String()))
    steps = [
        ("in", "k", "", 1),
        ("in", "k", "", 5),
        ("in", "k", "", 40),
        ("in", "k", "", 8),
        ("ask", "k", [1, 8], 50),
        ("in", "k", "", 90),
        ("ask", "k", [1, 8], 91),
    ]
    assert each_step(topology, steps, allow_stream_time_key_tracking=tracking) == [
        ["[k@1/1]=1/1@1"],
        ["[k@1/1]=gone/None@1", "[k@1/5]=2/2@5"],
        ["[k@40/40]=1/1@40"],
        ["[k@1/5]=gone/None@5", "[k@1/8]=3/3@8"],
        ["[k@1/8]=asked/3@50"],
        ["[k@90/90]=1/1@90"],
        ["[k@1/8]=asked/None@91"],
    ]


def test_records_also_wait_for_late_rows_of_a_copy():
    builder = StreamsBuilder()
    table = builder.table("in", store=Stores.versioned_key_value("versions", history=100 * MS))
    changes = table.to_stream().repartition()
    changes.left_join(table.filter(lambda key, value: value != "b"), slashed, grace=5 * MS, name="joined").to("out")
    steps = [
        ("in", "k", "a", 10),
        ("in", "k", "b", 12),
        ("in", "k", "c", 11),
        ("in", "k", "d", 17),
        ("in", "j", "e", 22),
    ]
    topology = builder.build()
    assert each_step(topology, steps) == [[], [], [], ["k=a/a@10", "k=c/c@11", "k=b/None@12"], ["k=d/d@17"]]
    with TopologyTestDriver(topology) as driver:
        for topic, *record in steps[:3]:
            driver.input_topic(topic).pipe(*record)
        [pending] = driver.explain_pending()
    assert pending.tasks == (PendingTask("0_0", 3, "k", since_ms=10, release_ms=15, stream_time_ms=12),)
