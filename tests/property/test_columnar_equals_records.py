"""The batch form of a task gives the same outputs, state and counters as the record path."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace._core.columnar.joins import kept_records
from headrace._core.columnar.joins import rows as join_rows
from headrace._core.columnar.joins import stream_stream as stream_join
from tests.support.columnar import KEYS, records, run
from tests.support.columnar_joins import joined, run_join
from tests.support.dose import examples


@pytest.mark.parametrize("kind", KEYS)
def test_count_in_columns_equals_count_by_records(kind):
    serde, keys = KEYS[kind]
    builder = hr.StreamsBuilder()
    counted = builder.stream("in", key_serde=serde).group_by_key().count(store="counts").to_stream()
    counted.to("out")
    counted.to("copy")
    topology = builder.build()

    @settings(max_examples=examples(60))
    @given(st.lists(st.tuples(records(keys), records(keys)), min_size=1, max_size=3))
    def check(chunks):
        by_records = run(topology, chunks, serde, columnar=False)
        assert run(topology, chunks, serde, columnar=True) == by_records

    check()


@pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])
@pytest.mark.parametrize(("size", "grace"), [(1, 0), (10, 3), (7, 100), (70_000, 5)])
@pytest.mark.parametrize("final", [False, True], ids=["every update", "final results"])
@pytest.mark.parametrize("kind", KEYS)
def test_tumbling_count_in_columns_equals_count_by_records(kind, size, grace, tracking, final):
    serde, keys = KEYS[kind]
    builder = hr.StreamsBuilder()
    windows = hr.TimeWindows.of(timedelta(milliseconds=size), grace=timedelta(milliseconds=grace))
    windowed = builder.stream("in", key_serde=serde).group_by_key().windowed_by(windows)
    counts = windowed.count(store="counts")
    if final:
        counts = counts.suppress(hr.Suppressed.until_window_closes(), name="final")
    counts.to_stream().to("out")
    topology = builder.build()

    @settings(max_examples=examples(25))
    @given(st.lists(st.tuples(records(keys), records(keys)), min_size=1, max_size=3))
    def check(chunks):
        switch = {"allow_stream_time_key_tracking": tracking}
        by_records = run(topology, chunks, serde, columnar=False, **switch)
        assert run(topology, chunks, serde, columnar=True, **switch) == by_records

    check()


@pytest.mark.parametrize("joiner", ["pure", "with key", "changes the row"])
@pytest.mark.parametrize("left", [False, True], ids=["join", "left join"])
@pytest.mark.parametrize("kind", KEYS)
def test_stream_table_join_in_columns_equals_join_by_records(kind, left, joiner):
    serde, keys = KEYS[kind]

    def changing(value, row):
        row = row if row is not None else []
        row.append(value)
        return row

    builder = hr.StreamsBuilder()
    table = builder.table("table", key_serde=serde, store="rows")
    stream = builder.stream("in", key_serde=serde)
    join = stream.left_join if left else stream.join
    changes = joiner == "changes the row"
    joiners = {
        "pure": lambda value, row: [value, row],
        "with key": lambda key, value, row: [repr(key), value, row],
        "changes the row": changing,
    }
    join(table, joiners[joiner]).to("out")
    topology = builder.build()
    streamed = records(keys)
    rows = streamed.map(
        lambda found: [
            (key, [value] if changes and isinstance(value, int) else value, *rest) for key, value, *rest in found
        ]
    )
    batches = st.one_of(st.tuples(st.just("in"), streamed, streamed), st.tuples(st.just("table"), rows))

    @settings(max_examples=examples(40))
    @given(st.lists(batches, min_size=1, max_size=6))
    def check(chunks):
        by_records = run(topology, chunks, serde, columnar=False)
        assert run(topology, chunks, serde, columnar=True) == by_records

    check()


@pytest.mark.parametrize(
    ("serde", "column", "checked"),
    [
        (serdes.String(), [b"a", None, "ü".encode()], [b"a", None, "ü".encode()]),
        (serdes.String(), [b"a", b"\xff"], "refused"),
        (serdes.String(), [b"\xed\xa0\x80"], "refused"),
        (serdes.Long(), [bytes(8), None], [bytes(8), None]),
        (serdes.Long(), [bytes(8), bytes(7)], "refused"),
        (serdes.Json(), [b"1", None, b"{}"], [b"1", None, b"{}"]),
        (serdes.Json(), [b"1", b" null", None, b"null", b"[null]"], [b"1", None, None, None, b"[null]"]),
        (serdes.Json(), [b"1", b"{"], "refused"),
        (serdes.Bytes(), [b"", None], [b"", None]),
        (serdes.Bool(), [b"\x01", b"\x02"], "refused"),
        (serdes.Bool(), [b"\x01", None, b"\x00"], [b"\x01", None, b"\x00"]),
    ],
)
def test_a_column_is_refused_exactly_if_a_value_cannot_be_decoded(serde, column, checked):
    given = pa.array(column, pa.binary())
    if checked == "refused":
        with pytest.raises(hr.SerdeError):
            serde.checked(given)
    else:
        assert serde.checked(given).to_pylist() == checked


def sided(keys):
    values = st.none() | st.integers(0, 3) | st.just({"a": None})
    times = st.integers(0, 40) | st.integers(100, 140)
    record = st.tuples(st.none() | keys, values, times, st.sampled_from([(), (("h", b"1"),)]))
    return st.lists(st.tuples(st.sampled_from(["in", "other"]), st.lists(record, min_size=1, max_size=12)), max_size=4)


@pytest.mark.parametrize("mapped", [False, True], ids=["written at once", "mapped first"])
@pytest.mark.parametrize("method", ["join", "left_join", "outer_join"])
@pytest.mark.parametrize("kind", KEYS)
def test_join_of_streams_in_columns_equals_the_join_by_records(kind, method, mapped, monkeypatch):
    monkeypatch.setattr(stream_join, "_MAX_PAIRS", 4)
    for module in (stream_join, join_rows, kept_records):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 3)
    serde, keys = KEYS[kind]
    value_serde = serdes.Json()

    @settings(max_examples=examples(60))
    @given(
        windows=st.tuples(st.integers(-4, 9), st.integers(4, 9), st.integers(0, 6)),
        batches=st.lists(sided(keys), min_size=1, max_size=3),
    )
    def check(windows, batches):
        topology = joined(method, serde, hr.JoinWindows(*windows), value_serde, mapped=mapped)
        by_records = run_join(topology, batches, serde, value_serde, columnar=False)
        assert run_join(topology, batches, serde, value_serde, columnar=True) == by_records

    check()


@pytest.mark.parametrize("method", ["join", "left_join"])
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"value": b"{"}, r"KSTREAM-SOURCE-\d+1 failed on record other-0@1 \(key b'a', timestamp 3\), .*deserialize"),
        (
            {"key": b"\xff"},
            r"KSTREAM-SOURCE-\d+1 failed on record other-0@1 \(key b'\\xff', timestamp 3\), .*deserialize",
        ),
        (
            {"value": b'"fail"'},
            r"j-(outer-)?other-join failed on record other-0@1 \(key 'a', timestamp 3\), .*ValueError: no",
        ),
    ],
)
def test_failure_in_a_join_in_columns_raises_the_same_error_as_by_records(method, bad, said):
    def refusing(left, right):
        if right == "fail":
            raise ValueError("no")
        return right

    builder = hr.StreamsBuilder()
    left, right = builder.stream("in"), builder.stream("other")
    getattr(left, method)(right, refusing, within=hr.JoinWindows(9, 9, 0), name="j").to("out")
    topology = builder.build()
    failing = (bad.get("key", b"a"), bad.get("value", b"1"), 3, ())
    batch = [("in", [(b"a", b"1", 1, ())]), ("other", [(b"a", b"1", 2, ()), failing])]
    messages = set()
    for columnar in (False, True):
        with pytest.raises(hr.ProcessingError, match=said) as failed:
            run_join(topology, [batch], None, None, columnar=columnar)
        messages.add(str(failed.value))
    assert len(messages) == 1
