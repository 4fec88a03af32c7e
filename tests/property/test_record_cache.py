"""The record cache removes updates that a later one of the same batch replaces, and changes nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace._graph.configured import configured
from headrace._runtime.spark.state_directory.interactive import StoreReader
from tests.support.columnar import KEYS, records, run
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

LARGE = 10 * 1024 * 1024
MS = timedelta(milliseconds=1)


def text(value):
    return "" if value is None else str(value)


def unless_long(aggregate):
    """Deletes rows now and then."""
    return None if len(aggregate) > 6 else aggregate


def joined(_, value, aggregate):
    return unless_long(aggregate + text(value))


def windowed(windows):
    def build(stream):
        return stream.group_by_key().windowed_by(windows).aggregate(str, joined)

    return build


def sessions(stream):
    grouped = stream.group_by_key().windowed_by(hr.SessionWindows.of(5 * MS, grace=9 * MS))
    return grouped.aggregate(str, joined, lambda _, left, right: left + right)


def cogrouped(stream):
    first, second = stream.filter(lambda _, value: value != 1), stream.filter(lambda _, value: value == 1)
    return first.group_by_key().cogroup(joined).cogroup(second.group_by_key(), joined).aggregate(str)


# Each has one cached table; the sink gets its updates.
TABLES = {
    "count": lambda stream: stream.group_by_key().count(),
    "reduce": lambda stream: stream.map_values(text).group_by_key().reduce(lambda one, two: unless_long(one + two)),
    "aggregate": lambda stream: stream.group_by_key().aggregate(str, joined),
    "cogroup": cogrouped,
    "tumbling": windowed(hr.TimeWindows.of(7 * MS, grace=30 * MS)),
    "hopping": windowed(hr.TimeWindows.of(9 * MS, advance=3 * MS, grace=3 * MS)),
    "sliding": windowed(hr.SlidingWindows.of(5 * MS, grace=20 * MS)),
    "sessions": sessions,
    "table": lambda stream: stream.to_table(store="rows"),
}


def topology_of(name):
    builder = hr.StreamsBuilder()
    TABLES[name](builder.stream("in")).to_stream().to("out")
    return builder.build()


VALUES = st.none() | st.integers(0, 3)
RECORDS = st.lists(
    st.tuples(st.none() | st.sampled_from("abc"), VALUES, st.integers(0, 40)),
    min_size=1,
    max_size=40,
)
CUTS = st.lists(st.integers(1, 15), max_size=5)
_PARTITIONS = {"a": 0, "b": 1, "c": 1, None: 0}


class Application:
    """Runs a topology without Spark, batch by batch."""

    def __init__(self, directory, topology, inputs, **config):
        self.directory = directory
        self.topics = hr.LocalTopics(directory / "topics")
        self.config = hr.StreamsConfig(application_id="test", **config)
        self.topology = topology
        for topic, produced in inputs.items():
            self.topics.create(topic, partitions=2)
            self.topics.produce(topic, [hr.Record(*one, partition=_PARTITIONS[one[0]]) for one in produced])
        self.runner = PlanRunner(topology, directory, config=self.config)

    def batches(self, cuts):
        """The new records of each output topic and partition, batch by batch."""
        written = {}
        for limit in (*cuts, *[1_000] * 5):
            if not self.runner.run_batch(limit):
                return
            outputs = self.runner.outputs()
            places = {
                (topic, partition): found for topic, parts in outputs.items() for partition, found in parts.items()
            }
            yield {place: found[written.get(place, 0) :] for place, found in places.items()}
            written = {place: len(found) for place, found in places.items()}

    def stores(self):
        graph = configured(self.topology._graph, self.config)
        directories = {f"{name}_dir": self.directory / name for name in ("topics", "state", "local")}
        reader = StoreReader(graph, self.config.replace(**directories))
        return {name: list(reader.store(name).all()) for name in graph.stores}


def run_both(topology, inputs, cuts, cache):
    """The batches and stores without the cache and with it."""
    results = []
    for config in ({}, {"statestore_cache_max_bytes": cache}):
        with TemporaryDirectory() as folder:
            application = Application(Path(folder), topology, inputs, **config)
            results.append((list(application.batches(cuts)), application.stores()))
    return results


def last_updates(batches):
    """The last update of each row in each batch; deletions of rows that were not written are left out."""
    known, kept = {}, []
    for batch in batches:
        kept.append({})
        for place, found in batch.items():
            rows = {}
            for key, value, timestamp_ms in found:
                rows.pop(key, None)
                rows[key] = value, timestamp_ms
            written = known.setdefault(place, set())
            kept[-1][place] = [
                (key, *update) for key, update in rows.items() if update[0] is not None or key in written
            ]
            for key, (value, _) in rows.items():
                (written.discard if value is None else written.add)(key)
    return kept


@pytest.mark.parametrize("name", TABLES)
def test_each_batch_writes_the_last_updates_and_the_stores_are_the_same(name):
    topology = topology_of(name)

    @settings(max_examples=examples(25))
    @given(records=RECORDS, cuts=CUTS)
    def check(records, cuts):
        (uncached, stores), (cached, cached_stores) = run_both(topology, {"in": records}, cuts, LARGE)
        assert cached == last_updates(uncached)
        assert cached_stores == stores

    check()


@pytest.mark.parametrize("name", TABLES)
def test_a_small_cache_writes_some_of_the_updates_with_the_last_ones_and_the_stores_are_the_same(name):
    topology = topology_of(name)

    @settings(max_examples=examples(15))
    @given(records=RECORDS, cuts=CUTS, cache=st.integers(1, 900))
    @example(records=[("b", 0, 0), ("b", None, 0), ("b", None, 1)], cuts=[1], cache=1)
    def check(records, cuts, cache):
        (uncached, stores), (cached, cached_stores) = run_both(topology, {"in": records}, cuts, cache)
        assert [last_rows(batch) for batch in last_updates(cached)] == [
            last_rows(batch) for batch in last_updates(uncached)
        ]
        assert cached_stores == stores

    check()


def last_rows(batch):
    """The rows by place. A row deleted twice has the time of either deletion: the first, if the cache was flushed."""
    return {
        place: {(key, value, None if value is None else time_ms) for key, value, time_ms in found}
        for place, found in batch.items()
    }


def chain(builder):
    """Tables on tables: a filter, a join by key, groups of the result; each has its own store."""
    left = builder.stream("in").group_by_key().aggregate(str, joined, store="left")
    right = builder.table("other", store="right").filter(lambda _, value: value != 2, store="filtered")
    both = left.outer_join(right, lambda one, two: [one, two], store="both")
    both.to_stream().to("joined")
    groups = both.group_by(lambda key, value: (text(value[1]), f"{key}{value[0]}"))
    groups.count(store="sizes").to_stream().to("sizes")
    groups.aggregate(
        list, lambda _, one, many: sorted([*many, one]), lambda _, one, many: remove(many, one), store="members"
    ).to_stream().to("members")


def remove(many, one):
    rest = list(many)
    rest.remove(one)
    return rest


def by_foreign_key(builder):
    left = builder.table("in", store="left").map_values(text, store="texts")
    right = builder.stream("other").group_by(lambda _, value: text(value)).count(store="right")
    placed = left.left_join(right, lambda one, two: [one, two], foreign_key=lambda _, value: value, store="placed")
    placed.to_stream().to("placed")
    placed.group_by(lambda _, value: (text(value[1]), value[0])).count(store="sizes").to_stream().to("sizes")


def joined_with_its_own_table(builder):
    stream = builder.stream("in")
    counts = stream.group_by(lambda _, value: text(value)).count(store="counts")
    stream.join(builder.table("other", store="others"), lambda value, other: [value, other]).to("with-other")
    counts.join(builder.table("names", store="names"), lambda count, name: [count, name], store="named").to_stream().to(
        "named"
    )


TOPOLOGIES = {"a chain of tables": chain, "a foreign key": by_foreign_key, "lookups": joined_with_its_own_table}


def values_of(stores):
    """The rows of the stores of tables without their timestamps, and without groups of no rows."""
    return {name: dict(rows) for name, rows in stores.items() if name[0] != "K"}


def emptied(rows):
    return {key: value for key, value in rows.items() if value not in (0, [], None, bytes(8), b"[]")}


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_tables_on_tables_end_with_the_same_rows_whatever_the_size_of_the_cache(kind):
    builder = hr.StreamsBuilder()
    TOPOLOGIES[kind](builder)
    topology = builder.build()
    topics = topology._graph.source_topics

    @settings(max_examples=examples(30))
    @given(inputs=st.tuples(*[RECORDS] * len(topics)), cuts=CUTS, cache=st.sampled_from([1, 300, 1500, LARGE]))
    def check(inputs, cuts, cache):
        produced = dict(zip(topics, inputs, strict=True))
        (uncached, stores), (cached, cached_stores) = run_both(topology, produced, cuts, cache)
        assert {name: emptied(rows) for name, rows in values_of(cached_stores).items()} == {
            name: emptied(rows) for name, rows in values_of(stores).items()
        }
        if "with-other" not in topology._graph.sink_topics:
            assert final_rows(cached) == final_rows(uncached)

    check()


def final_rows(batches):
    rows = {}
    for batch in batches:
        for (topic, _), found in batch.items():
            rows.setdefault(topic, {}).update((key, value) for key, value, _ in found)
    return {topic: emptied(found) for topic, found in rows.items()}


def fold_chain(stream):
    appended = stream.group_by_key().aggregate(list, lambda _, value, seen: [*seen[-2:], value]).to_stream()
    appended.map_values(lambda seen: [seen, len(seen)]).to("out")
    lengths = appended.map_values(len).group_by_key(value_serde=serdes.Json())
    lengths.reduce(lambda one, two: None if one + two > 9 else one + two).to_stream().to("lengths")


def counted_functions(stream):
    stream.group_by_key().count(store="counts").to_stream().map_values(lambda count: count * 2).to("out")
    stream.map_values(lambda value: [value]).to("copy")


FORMS = {
    "count": lambda stream: stream.group_by_key().count(store="counts").to_stream().to("out"),
    "tumbling count": lambda stream: (
        stream.group_by_key().windowed_by(hr.TimeWindows.of(7 * MS, grace=9 * MS)).count().to_stream().to("out")
    ),
    "final tumbling count": lambda stream: (
        stream.group_by_key()
        .windowed_by(hr.TimeWindows.of(7 * MS, grace=9 * MS))
        .count()
        .suppress(hr.Suppressed.until_window_closes(), name="final")
        .to_stream()
        .to("out")
    ),
    "aggregations": fold_chain,
    "functions after a count": counted_functions,
}


@pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["string", "long"])
def test_cached_updates_in_columns_equal_those_by_records(kind, form, tracking):
    serde, keys = KEYS[kind]
    builder = hr.StreamsBuilder()
    FORMS[form](builder.stream("in", key_serde=serde))
    topology = builder.build()

    @settings(max_examples=examples(25))
    @given(
        chunks=st.lists(st.tuples(records(keys), records(keys)), min_size=1, max_size=3),
        cache=st.integers(1, 2_000) | st.just(LARGE),
    )
    def check(chunks, cache):
        switch = {"allow_stream_time_key_tracking": tracking, "statestore_cache_max_bytes": cache}
        by_records = run(topology, chunks, serde, columnar=False, **switch)
        assert run(topology, chunks, serde, columnar=True, **switch) == by_records

    check()


def words(builder):
    lines = builder.stream("in").flat_map_values(lambda value: [text(value), "x"])
    lines.group_by(lambda _, word: word).count(store="words").to_stream().to("counts")


def grouped_rows(builder):
    rows = builder.table("in", store="rows").group_by(lambda key, value: (text(value), text(key)), name="by-value")
    rows.reduce(lambda one, two: one + two, lambda one, two: one.replace(two, "", 1)).to_stream().to("groups")


@pytest.mark.parametrize("build", [words, grouped_rows])
def test_cached_stages_in_columns_equal_those_by_records(build):
    builder = hr.StreamsBuilder()
    build(builder)
    topology = builder.build()

    def outputs(records, cuts, cache):
        with TemporaryDirectory() as folder:
            application = Application(Path(folder), topology, {"in": records}, statestore_cache_max_bytes=cache)
            return list(application.batches(cuts)), application.stores()

    @settings(max_examples=examples(40))
    @given(records=RECORDS, cuts=CUTS, cache=st.integers(1, 900) | st.just(LARGE))
    def check(records, cuts, cache):
        with patch("headrace._runtime.assemble.columnar_forms", lambda *_, **__: {}):
            by_records = outputs(records, cuts, cache)
        assert outputs(records, cuts, cache) == by_records

    check()
