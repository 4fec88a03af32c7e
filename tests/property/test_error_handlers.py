"""Only the records that fail are missing from the output, however batches are cut and repeated."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner
from tests.support.raw_topics import append

MS = timedelta(milliseconds=1)
POISON, BAD = b"\xff", b"bad"
UNREAD = b"never"  # the value of a record that is left out, but whose timestamp must still advance time


def checked(value):
    if value.encode() == BAD:
        raise ValueError(value)
    return value


def read(builder):
    stream = builder.stream("in", key_serde=serdes.String(), value_serde=serdes.String(), name="reads")
    return stream.filter(lambda key, value: value.encode() != UNREAD) if builder.without else stream


def plain(builder):
    read(builder).map_values(checked, name="check").to("out", value_serde=serdes.String())


def counts(builder):
    """A count that runs in columns: no operator filters, and none may fail."""
    read(builder).group_by_key().count(store="counts").to_stream().to("out")


def final_counts(builder):
    windows = read(builder).group_by_key().windowed_by(hr.TimeWindows.of(10 * MS))
    windows.count(store="counts").suppress(hr.Suppressed.until_window_closes()).to_stream().to("out")


def joined_texts(builder):
    """Concatenates all values, so that the order across partitions matters."""
    grouped = read(builder).group_by(lambda key, value: "all", key_serde=serdes.String())
    grouped.aggregate(str, appended, store="all").to_stream().to("out")


def windowed_texts(builder):
    grouped = read(builder).map_values(checked).group_by_key(value_serde=serdes.String())
    windows = grouped.windowed_by(hr.TimeWindows.of(10 * MS, grace=20 * MS))
    windows.aggregate(str, appended, store="texts").to_stream().to("out")


def appended(key, value, text):
    return f"{text} {checked(value)}"


VALUES = st.sampled_from([b"a", b"b", b"", POISON, BAD])
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([b"k", b"l", b"m"]), VALUES, st.sampled_from([-3, 0, 4, 9, 12, 33, 70]), st.integers(0, 1)
    ),
    max_size=25,
)
CUTS = st.lists(st.tuples(st.integers(1, 6), st.sampled_from([None, None, "before", "after", "restart"])), max_size=8)


def planned(build, commits, cuts, *, without=False):
    """Runs the plan; returns the output, and the partitions and offsets of the dead letters."""
    builder = hr.StreamsBuilder()
    builder.without = without
    build(builder)
    names = ("deserialization_exception_handler", "processing_exception_handler", "dead_letter_topic")
    handlers = {} if without else dict(zip(names, ("dead_letter", "dead_letter", "dead"), strict=True))
    with TemporaryDirectory() as name:
        topics = hr.LocalTopics(Path(name) / "topics")
        topics.create("in", partitions=2)
        for records in commits:
            append(Path(name) / "topics", "in", records)
        config = hr.StreamsConfig(application_id="t", **handlers)
        runner = PlanRunner(builder.build(), Path(name), config=config)
        for limit, event in cuts:
            if event == "restart":
                runner.restart()
            elif event is not None:
                runner.run_batch(limit, fail=event)
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        out = {where: rows for where, rows in runner.output("out").items() if rows}
        letters = topics.read("dead", serdes.Bytes(), serdes.Bytes()) if "dead" in topics.list() else []
    said = [dict(letter.headers) for letter in letters]
    places = [(int(headers["headrace.error.partition"]), int(headers["headrace.error.offset"])) for headers in said]
    return out, sorted(places)


def places_of(records, fails):
    found, offsets = [], [0, 0]
    for record in records:
        if fails(record):
            found.append((record[3], offsets[record[3]]))
        offsets[record[3]] += 1
    return sorted(found)


FALLIBLE = {plain: True, counts: False, final_counts: False, joined_texts: True, windowed_texts: True}
DEAD_ON_ARRIVAL = (b"k", POISON, 4, 0)


@settings(max_examples=examples(20))
@given(records=RECORDS, cuts=CUTS, several=st.integers(1, 4))
@example(records=[(b"k", b"a", 4, 0), (b"k", b"a", 5, 0), DEAD_ON_ARRIVAL, (b"k", b"b", 6, 0)], cuts=[], several=2)
@pytest.mark.parametrize("build", FALLIBLE, ids=lambda build: build.__name__)
def test_failing_records_do_not_change_the_results_of_others(build, records, cuts, several):
    def fails(record):
        return record[1] == POISON or record[2] < 0 or (FALLIBLE[build] and record[1] == BAD)

    commits = [records[at::several] for at in range(several)]
    records = [record for commit in commits for record in commit]
    found, dead = planned(build, commits, cuts)
    missing = [
        (key, UNREAD if fails((key, value, at, where)) else value, at, where)
        for key, value, at, where in records
        if at >= 0
    ]
    alone, _ = planned(build, [missing], [], without=True)
    assert found == alone
    assert dead == places_of(records, fails)


def test_record_of_a_global_table_that_fails_in_all_tasks_becomes_one_dead_letter(tmp_path):
    builder = hr.StreamsBuilder()
    names = builder.global_table("names", store="names")
    stream = builder.stream("in", value_serde=serdes.String())
    joined = stream.join(names, lambda value, name: f"{value} {name}", key_selector=lambda key, value: key)
    joined.group_by_key().count(store="counts").to_stream().to("out")
    topics = hr.LocalTopics(tmp_path / "topics")
    for topic in ("names", "in"):
        topics.create(topic, partitions=2)
    append(tmp_path / "topics", "names", [(b"k", b'"x"', 5, 0), (b"k", b"{", 6, 0), (b"l", b'"y"', 7, 1)])
    append(tmp_path / "topics", "in", [(b"k", b"a", 1, 0), (b"l", POISON, 2, 0), (b"l", b"b", 3, 1)])
    settings = {"deserialization_exception_handler": "dead_letter", "dead_letter_topic": "dead"}
    runner = PlanRunner(builder.build(), tmp_path, config=hr.StreamsConfig(application_id="t", **settings))
    while runner.run_batch(1_000):
        pass
    assert sorted(row[0] for rows in runner.output("out").values() for row in rows) == [b"k", b"l"]
    letters = topics.read("dead", serdes.Bytes(), serdes.Bytes())
    assert sorted((letter.key, letter.value) for letter in letters) == [(b"k", b"{"), (b"l", POISON)]
