"""suppress: rows are emitted once, with their last update, when their window closes or their time limit is over."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

import headrace as hr
from headrace import BufferConfig, Record, Stores, Suppressed, serdes
from headrace.dsl.stores import WaitingRow
from headrace.testing import TopologyTestDriver

MS = timedelta(milliseconds=1)
FINAL = Suppressed.until_window_closes()
TUMBLING = hr.TimeWindows.of(10 * MS, grace=2 * MS)


def final_counts(windows, suppressed=FINAL):
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(windows).count()
    counts.suppress(suppressed, name="final").to_stream().to("out")
    return builder.build()


def limited(limit_ms, buffer=None):
    builder = hr.StreamsBuilder()
    rows = builder.table("in", value_serde=serdes.String())
    rows.suppress(Suppressed.until_time_limit(limit_ms * MS, buffer), name="held").to_stream().to("out")
    return builder.build()


def each_step(topology, *records, restarts=False, tracking=False):
    """The records that each step emits, with windowed keys as text."""
    config = hr.StreamsConfig(application_id="t", allow_stream_time_key_tracking=tracking)
    with TopologyTestDriver(topology, config) as driver:
        results = []
        for record in records:
            driver.input_topic("in").pipe(*record)
            if restarts:
                driver.restart()
            results.append([(str(r.key), r.value, r.timestamp_ms) for r in driver.output_topic("out").read_all()])
        return results


def ones(text):
    """Records from text such as `k@0 j@1`: key and timestamp, with any value."""
    return [(key, "v", int(at)) for key, at in (word.split("@") for word in text.split())]


REFERENCE = {
    "tumbling 10, grace 2": (
        final_counts(TUMBLING),
        ones("k@0 k@3 j@1 k@11 k@5 k@12 k@6 z@30"),
        [[], [], [], [], [], [("[j@0/10]", 1, 1), ("[k@0/10]", 3, 5)], [], [("[k@10/20]", 2, 12)]],
    ),
    "session gap 5, grace 0": (
        final_counts(hr.SessionWindows.of(5 * MS)),
        ones("k@0 k@3 j@7 j@8 j@9 k@4"),
        [[], [], [], [("[k@0/3]", 2, 3)], [], [("[k@4/4]", 1, 4)]],
    ),
    "sliding 10, grace 0: final twice at the boundary": (
        final_counts(hr.SlidingWindows.of(10 * MS)),
        ones("k@20 k@20"),
        [[("[k@10/20]", 1, 20)], [("[k@10/20]", 2, 20)]],
    ),
    "time limit 10": (
        limited(10),
        [("k", "a", 5), ("k", "b", 12), ("j", "x", 14), ("j", "y", 15), ("k", "c", 3), ("k", "d", 13), ("k", None, 23)],
        [[], [], [], [("k", "b", 12)], [("k", "c", 3)], [], [("k", None, 23)]],
    ),
    "time limit 0": (
        limited(0),
        [("k", "a", 5), ("k", "b", 12), ("k", None, 3), ("k", None, 4)],
        [[("k", "a", 5)], [("k", "b", 12)], [("k", None, 3)], [("k", None, 4)]],
    ),
    "at most 2 rows": (
        limited(1000, BufferConfig.max_records(2)),
        [("b", "1", 5), ("a", "1", 5), ("b", "2", 6), ("c", "1", 1), ("d", "1", 9), ("e", "1", 9)],
        [[], [], [], [("c", "1", 1)], [("a", "1", 5)], [("b", "2", 6)]],
    ),
    "at most 64 bytes": (
        limited(1000, BufferConfig.max_bytes(64)),
        [("b", "1", 5), ("a", "1", 6), ("c", "1", 7), ("a", "22", 8)],
        [[], [], [("b", "1", 5)], [("a", "22", 8)]],
    ),
    "at most 9 rows and 63 bytes": (
        limited(1000, BufferConfig.max_records(9).with_max_bytes(63)),
        [("b", "1", 5), ("a", "1", 6)],
        [[], [("b", "1", 5)]],
    ),
}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("topology", "records", "expected"), REFERENCE.values(), ids=REFERENCE)
def test_rows_are_emitted_when_the_reference_says_so_and_restarts_change_nothing(topology, records, expected, restarts):
    assert each_step(topology, *records, restarts=restarts) == expected


def test_a_table_with_several_kinds_of_windows_closes_them_by_the_longest_grace():
    builder = hr.StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    soon, late = (
        grouped.windowed_by(hr.TimeWindows.of(10 * MS, grace=grace * MS)).count().to_stream() for grace in (0, 5)
    )
    tables = soon.merge(late).to_table(key_serde=serdes.WindowedKey(serdes.String(), 10))
    tables.suppress(FINAL).to_stream().to("out")
    assert each_step(builder.build(), *ones("k@1 k@14 k@15")) == [[], [], [("[k@0/10]", 1, 1)]]


def test_suppress_finds_the_windows_before_filters_and_repartitions():
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(TUMBLING).count().filter(lambda key, count: count > 1)
    again = counts.group_by(lambda key, count: (key, count), key_serde=serdes.WindowedKey(serdes.String(), 10))
    again.reduce(max, min).suppress(FINAL).to_stream().to("out")
    assert each_step(builder.build(), *ones("k@0 k@1 j@2 k@3 k@12 k@13")) == [
        *([[]] * 5),
        [("[k@0/10]", 3, 3)],
    ]


def test_deleted_windows_emit_nothing_but_advance_stream_time():
    builder = hr.StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(TUMBLING)
    texts = windowed.aggregate(str, lambda key, value, text: None if value == "del" else text + value)
    texts.suppress(FINAL, name="final").to_stream().to("out")
    records = [("k", "a", 1), ("k", "del", 2), ("j", "b", 3), ("z", "x", 13), ("z", "del", 30)]
    with TopologyTestDriver(builder.build()) as driver:
        for record in records:
            driver.input_topic("in").pipe(*record)
        assert [r.value for r in driver.output_topic("out").read_all()] == ["b", "x"]
        assert [str(row.key) for row in driver.store("final-store").all()] == ["[z@30/40]"]


def test_an_emitted_row_has_timestamp_and_headers_of_its_last_update():
    with TopologyTestDriver(limited(10)) as driver:
        for key, value, at, headers in [
            ("k", "a", 5, (("h", b"1"),)),
            ("k", "b", 3, (("h", b"2"), ("n", None))),
            ("j", "x", 15, (("h", b"3"),)),
        ]:
            driver.input_topic("in").pipe(key, value, at, headers)
            driver.restart()
        assert driver.output_topic("out").read_all() == [Record("k", "b", 3, (("h", b"2"), ("n", None)))]


def test_an_aggregation_after_suppress_subtracts_the_last_emitted_value():
    builder = hr.StreamsBuilder()
    held = builder.table("in").suppress(Suppressed.until_time_limit(10 * MS))
    totals = held.group_by(lambda key, value: ("all", value), value_serde=serdes.Json())
    totals.aggregate(list, lambda _, new, log: [*log, new], lambda _, old, log: [*log, -old]).to_stream().to("out")
    records = [("k", value, at) for value, at in [(1, 0), (2, 5), (3, 10), (4, 11), (5, 15), (6, 25), (None, 40)]]
    assert each_step(builder.build(), *records, restarts=True) == [
        *([[]] * 2),
        [("all", [3], 10)],
        *([[]] * 2),
        [("all", [3, -3, 6], 25)],
        [],
    ]


def test_values_changed_later_by_user_code_do_not_change_buffered_rows():
    builder = hr.StreamsBuilder()
    seen = builder.stream("in").group_by_key().aggregate(list, lambda key, value, log: log.append(value) or log)
    spoilt = seen.suppress(Suppressed.until_time_limit(5 * MS)).map_values(lambda log: log.append("!") or log)
    spoilt.to_stream().to("out")
    assert each_step(builder.build(), ("k", 1, 0), ("k", 2, 5), ("k", 3, 10)) == [
        [],
        [("k", [1, 2, "!"], 5)],
        [],
    ]


def test_a_full_buffer_that_must_not_emit_early_fails_and_rolls_the_last_record_back():
    buffer = BufferConfig.max_records(2).shut_down_when_full()
    with TopologyTestDriver(limited(1000, buffer)) as driver:
        for record in [("a", "1", 5), ("a", "2", 6), ("b", "1", 5)]:
            driver.input_topic("in").pipe(*record)
        with pytest.raises(hr.StreamsError) as caught:
            driver.input_topic("in").pipe("c", "1", 9)
        assert "held holds back 3 records of 97 bytes, but its buffer allows 2 records" in str(caught.value)
        assert "emit_early_when_full()" in str(caught.value)
        assert driver.output_topic("out").read_all() == []
        assert list(driver.store("held-store").all()) == [WaitingRow("a", "2", 6, 5), WaitingRow("b", "1", 5, 5)]


def test_the_error_of_a_full_buffer_of_final_results_does_not_suggest_to_emit_early():
    topology = final_counts(TUMBLING, Suppressed.until_window_closes(BufferConfig.unbounded().with_max_bytes(1)))
    with pytest.raises(hr.StreamsError, match=r"final .* allows 1 bytes .* larger BufferConfig, or hold"):
        each_step(topology, *ones("k@0"))


def test_rows_whose_keys_lost_their_windows_are_refused_on_arrival():
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(TUMBLING).count()
    totals = counts.group_by(lambda window, count: (window.key, count)).count()
    totals.suppress(FINAL, name="final").to_stream().to("out")
    with pytest.raises(hr.StreamsError, match=r"final holds rows back .* the key 'k' has no window"):
        each_step(builder.build(), *ones("k@0"))


def test_the_buffered_rows_can_be_queried():
    with TopologyTestDriver(limited(10)) as driver:
        for record in [("k", "a", 5), ("j", "x", 3), ("k", "b", 6)]:
            driver.input_topic("in").pipe(*record)
        waiting = driver.store("held-store")
        assert list(waiting.all()) == [WaitingRow("j", "x", 3, 3), WaitingRow("k", "b", 6, 5)]
        assert (waiting.get("k"), waiting.num_rows(), waiting.oldest()) == (WaitingRow("k", "b", 6, 5), 2, ("j", 3))


@pytest.mark.parametrize("restarts", [False, True])
def test_with_a_time_per_key_windows_wait_for_records_of_their_own_key(restarts):
    tumbling = final_counts(hr.TimeWindows.of(2 * MS, grace=3 * MS))
    steps = each_step(tumbling, *ones("A@0 A@1 B@0 A@2 A@5 B@3 B@4 B@5 A@9"), restarts=restarts, tracking=True)
    assert steps == [
        [],
        [],
        [],
        [],
        [("[A@0/2]", 2, 1)],
        [],
        [],
        [("[B@0/2]", 1, 0)],
        [("[A@2/4]", 1, 2), ("[A@4/6]", 1, 5)],
    ]


def test_with_a_time_per_key_a_full_buffer_emits_the_oldest_row_of_all_keys():
    records = [("a", "1", 5), ("b", "1", 3), ("c", "1", 90), ("a", "2", 14), ("a", "3", 15), ("d", "1", 1)]
    assert each_step(limited(10, BufferConfig.max_records(2)), *records, tracking=True) == [
        [],
        [],
        [("b", "1", 3)],
        [],
        [("a", "3", 15)],
        [],
    ]


def test_names_and_indices_are_those_of_kafka_streams():
    builder = hr.StreamsBuilder()
    table = builder.table("in")
    table.suppress(Suppressed.until_time_limit(MS)).suppress(Suppressed.until_time_limit(MS), name="held").to_stream()
    described = builder.build().describe()
    assert re.findall(r"Processor: (\S+) \(stores: \[(\S*)\]\)", described) == [
        ("KTABLE-SOURCE-0000000002", "in-STATE-STORE-0000000000"),
        ("KTABLE-SUPPRESS-0000000003", "KTABLE-SUPPRESS-STATE-STORE-0000000004"),
        ("held", "held-store"),
        ("KTABLE-TOSTREAM-0000000005", ""),
    ]


def counted(windows=None):
    grouped = hr.StreamsBuilder().stream("in").group_by_key()
    return (grouped if windows is None else grouped.windowed_by(windows)).count(name="counts")


def versioned():
    return hr.StreamsBuilder().table("in", store=Stores.versioned_key_value("v", history=9 * MS), name="rows")


REFUSED = {
    "no windows": (lambda: counted().suppress(FINAL), "counts.*until_window_closes.*KSTREAM-SOURCE.*windowed_by"),
    "some rows without windows": (
        lambda: _merged_with_rows().suppress(FINAL),
        "until_window_closes.*without a windowed aggregation",
    ),
    "windows that never close": (
        lambda: counted(hr.UnlimitedWindows.starting_at(0)).suppress(FINAL),
        "unlimited windows of counts, which never close",
    ),
    "a versioned table": (lambda: versioned().suppress(Suppressed.until_time_limit(MS)), "rows.*versioned table"),
    "a filtered versioned table": (
        lambda: versioned().filter(lambda key, value: True, name="kept").suppress(Suppressed.until_time_limit(MS)),
        "kept.*versioned table",
    ),
    "no Suppressed": (lambda: counted().suppress(5 * MS), r"counts was given datetime.timedelta.*until_time_limit"),
    "final results early": (
        lambda: Suppressed.until_window_closes(BufferConfig.max_records(5)),
        r"record_limit=5.*shut_down_when_full\(\)",
    ),
    "final results early, unbounded": (
        lambda: Suppressed.until_window_closes(BufferConfig.unbounded().emit_early_when_full()),
        "results would not be final",
    ),
    "no duration": (lambda: Suppressed.until_time_limit(5), "until_time_limit.*limit is 5 of type int.*timedelta"),
    "a negative duration": (lambda: Suppressed.until_time_limit(-MS), "at least 0"),
    "no buffer": (lambda: Suppressed.until_time_limit(MS, 5), r"buffer=5; allowed: BufferConfig.unbounded\(\)"),
    "no records": (lambda: BufferConfig.max_records(0), r"max_records\(\) was given 0; .* 1 or more"),
    "no bytes": (lambda: BufferConfig.max_bytes(-1), r"max_bytes\(\) was given -1"),
    "half a record": (lambda: BufferConfig.unbounded().with_max_records(0.5), r"with_max_records\(\) was given 0.5"),
    "a truth value": (lambda: BufferConfig.unbounded().with_max_bytes(True), r"with_max_bytes\(\) was given True"),
}


def _merged_with_rows():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in")
    return stream.group_by_key().windowed_by(TUMBLING).count().to_stream().merge(stream).to_table()


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_uses_of_suppress_are_refused_when_the_topology_is_built(build, message):
    with pytest.raises(hr.TopologyError, match=message):
        build()
