"""Guessed names: the error names the right one, whether the guess is Java's name or a typo."""

from __future__ import annotations

import copy
import enum
import pickle
from datetime import timedelta
from typing import Protocol

import pytest

import headrace as hr
from headrace import serdes, testing
from headrace._runtime.stores import make_view
from headrace._state.bytes.memory import MemoryStore
from headrace._suggestions.kafka_names import METHODS
from headrace.errors import UnknownNameError

SECOND = timedelta(seconds=1)


def stream():
    return hr.StreamsBuilder().stream("in")


def driver():
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
    return testing.TopologyTestDriver(builder.build())


PUBLIC = {
    "KStream": stream,
    "KTable": lambda: hr.StreamsBuilder().table("in"),
    "KGroupedStream": lambda: stream().group_by_key(),
    "TimeWindowedKStream": lambda: stream().group_by_key().windowed_by(hr.TimeWindows.of(SECOND)),
    "BranchedKStream": lambda: stream().split(),
    "GlobalKTable": lambda: hr.StreamsBuilder().global_table("in"),
    "StreamsBuilder": hr.StreamsBuilder,
    "Topology": hr.Topology,
    "Record": lambda: hr.Record("k", 1, 2),
    "Window": lambda: hr.Window(1, 2),
    "TopologyTestDriver": driver,
    "Stores": lambda: hr.Stores,
    "TimeWindows": lambda: hr.TimeWindows,
    "a TimeWindows": lambda: hr.TimeWindows.of(SECOND),
    "SlidingWindows": lambda: hr.SlidingWindows,
    "SessionWindows": lambda: hr.SessionWindows,
    "JoinWindows": lambda: hr.JoinWindows,
    "UnlimitedWindows": lambda: hr.UnlimitedWindows,
    "Suppressed": lambda: hr.Suppressed,
    "BufferConfig": lambda: hr.BufferConfig,
    "StreamsConfig": lambda: hr.StreamsConfig,
    "store": lambda: driver().store("counts"),
    "AutoOffsetReset": lambda: hr.AutoOffsetReset,
    "MockProcessorContext": testing.MockProcessorContext,
    "TestOutputTopic": lambda: driver().output_topic("out"),
    "headrace": lambda: hr,
    "serdes": lambda: serdes,
}


@pytest.mark.parametrize(
    ("owner", "guess", "answer"),
    [
        ("KStream", "mapValues", "'KStream' object has no attribute 'mapValues'. Did you mean 'map_values'?"),
        ("KStream", "foreach", "Did you mean 'for_each'?"),
        ("KStream", "flatMap", "Did you mean 'flat_map'?"),
        ("KStream", "groupByKey", "Did you mean 'group_by_key'?"),
        ("KStream", "leftJoin", "Did you mean 'left_join'?"),
        ("KStream", "fitler", "Did you mean 'filter'?"),
        ("KStream", "branch", "Use split().branch(predicate, name=...)"),
        ("KStream", "through", "Use repartition(name), or to(topic) and builder.stream(topic)."),
        ("KStream", "transform", "Use process(factory, stores=[...])."),
        ("KStream", "transformValues", "Use process_values(factory, stores=[...])."),
        ("KStream", "count", "Group the stream first: group_by_key().count()."),
        ("KTable", "toStream", "Did you mean 'to_stream'?"),
        ("KTable", "to", "Write to_stream().to(topic)."),
        ("KTable", "foreach", "Write to_stream().for_each(action)."),
        ("KGroupedStream", "windowedBy", "Did you mean 'windowed_by'?"),
        ("TimeWindowedKStream", "emitStrategy", "Did you mean 'emit_strategy'?"),
        ("BranchedKStream", "defaultBranch", "Use default(name=...)."),
        ("BranchedKStream", "noDefaultBranch", "Use no_default()."),
        ("GlobalKTable", "to_stream", "use builder.table(topic)"),
        ("StreamsBuilder", "globalTable", "Did you mean 'global_table'?"),
        ("StreamsBuilder", "addStateStore", "Did you mean 'add_state_store'?"),
        ("Topology", "addSource", "Did you mean 'add_source'?"),
        ("Record", "withValue", "Did you mean 'with_value'?"),
        ("Record", "timestamp", "Use timestamp_ms."),
        ("Window", "start", "Use start_ms."),
        ("TopologyTestDriver", "createInputTopic", "Use input_topic(name)."),
        ("TopologyTestDriver", "getKeyValueStore", "Use store(name)."),
        ("TopologyTestDriver", "advanceWallClockTime", "Use advance_wall_clock(duration)."),
        ("TimeWindows", "of_size_with_no_grace", "Write TimeWindows.of(size)."),
        (
            "TimeWindows",
            "ofSizeWithNoGrace",
            "'TimeWindows' has no attribute 'ofSizeWithNoGrace'. Write TimeWindows.of(",
        ),
        ("TimeWindows", "of_size_and_grace", "Write TimeWindows.of(size, grace=...)."),
        ("a TimeWindows", "advance_by", "Write TimeWindows.of(size, advance=...)."),
        ("SlidingWindows", "ofTimeDifferenceWithNoGrace", "Write SlidingWindows.of(difference)."),
        ("SessionWindows", "of_inactivity_gap_and_grace", "Write SessionWindows.of(gap, grace=...)."),
        ("JoinWindows", "ofTimeDifferenceWithNoGrace", "Write JoinWindows.of(difference)."),
        ("JoinWindows", "before", "Write JoinWindows.of(difference, before=...)."),
        ("UnlimitedWindows", "of", "Write UnlimitedWindows.starting_at(start_ms)."),
        ("Suppressed", "untilWindowCloses", "Did you mean 'until_window_closes'?"),
        ("BufferConfig", "maxRecords", "Did you mean 'max_records'?"),
        ("Stores", "keyValueStoreBuilder", "Use Stores.key_value(name, key_serde=..., value_serde=...)."),
        ("Stores", "persistentSessionStore", "Use Stores.session(name, retention=...)."),
        ("StreamsConfig", "APPLICATION_ID_CONFIG", "StreamsConfig(application_id=...)"),
        ("store", "approximateNumEntries", "Did you mean 'approximate_num_entries'?"),
        ("store", "prefixScan", "Did you mean 'prefix_scan'?"),
        ("headrace", "KafkaStreams", "module 'headrace' has no 'KafkaStreams'. Use Streams(topology, config)."),
        ("headrace", "Materialized", 'Its options are keyword arguments here: count(store="name")'),
        ("headrace", "StreamBuilder", "Did you mean 'StreamsBuilder'?"),
        ("headrace", "LogAndFailProcessingExceptionHandler", "Set it in StreamsConfig"),
        ("AutoOffsetReset", "byDuration", "Did you mean 'by_duration'?"),
        ("headrace", "UncaugthExceptionHandler", "Did you mean 'UncaughtExceptionHandler'?"),
        ("headrace", "ValueJoinerWithKey", "Pass a function joiner(key, left, right)."),
        ("headrace", "WallclockTimestampExtractor", "Use wallclock_timestamp, a function."),
        ("KStream", "flatMapValuesWithKey", "Did you mean 'flat_map_values_with_key'?"),
        ("KTable", "transformValues", "Did you mean 'transform_values'?"),
        ("KTable", "queryableStoreName", "Did you mean 'queryable_store_name'?"),
        ("StreamsBuilder", "addGlobalStore", "Did you mean 'add_global_store'?"),
        ("store", "items", "Use all()."),
        ("store", "withTimestamps", "Did you mean 'with_timestamps'?"),
        ("MockProcessorContext", "getStateStore", "Use state_store(name)."),
        ("TestOutputTopic", "readKeyValuesToMap", "Use read_key_values_as_dict()."),
        ("serdes", "Integer", "Did you mean 'Int'?"),
    ],
)
def test_the_error_of_a_guessed_name_says_what_to_write(owner, guess, answer):
    thing = PUBLIC[owner]()
    with pytest.raises(UnknownNameError) as refused:
        getattr(thing, guess)
    assert answer in str(refused.value)
    assert not hasattr(thing, guess)
    assert getattr(thing, guess, "default") == "default"


def test_a_hint_never_stands_for_a_name_that_exists():
    hidden = []
    for owner, hints in METHODS.items():
        kind = vars(hr).get(owner) or vars(testing).get(owner)
        hidden += [(owner, name) for name in hints if kind is not None and name in dir(kind)]
    assert hidden == []


@pytest.mark.parametrize(
    "spec",
    [
        hr.Stores.key_value("s"),
        hr.Stores.timestamped_key_value_with_headers("s"),
        hr.Stores.window("s", retention=SECOND, window_size=SECOND),
        hr.Stores.timestamped_window_with_headers("s", retention=SECOND, window_size=SECOND),
        hr.Stores.session_with_headers("s", retention=SECOND),
        hr.Stores.versioned_key_value("s", history=SECOND),
    ],
    ids=lambda spec: type(spec).__name__,
)
def test_what_a_query_sees_of_a_store_answers_a_guess(spec):
    view = make_view(spec, [MemoryStore()], (serdes.String(), serdes.String()))
    with pytest.raises(UnknownNameError, match="Did you mean 'all'"):
        view.All  # noqa: B018


@pytest.mark.parametrize(
    ("spec", "read", "name"),
    [
        (hr.Stores.key_value("s"), None, "ReadOnlyKeyValueStore"),
        (hr.Stores.timestamped_key_value("s"), None, "ReadOnlyTimestampedKeyValueStore"),
        (hr.Stores.timestamped_key_value("s"), "with_timestamps", "ReadOnlyKeyValueStore"),
        (hr.Stores.timestamped_key_value_with_headers("s"), None, "ReadOnlyTimestampedKeyValueStoreWithHeaders"),
        (hr.Stores.timestamped_key_value_with_headers("s"), "with_headers", "ReadOnlyKeyValueStore"),
        (hr.Stores.window("s", retention=SECOND, window_size=SECOND), None, "ReadOnlyWindowStore"),
        (
            hr.Stores.timestamped_window("s", retention=SECOND, window_size=SECOND),
            None,
            "ReadOnlyTimestampedWindowStore",
        ),
        (
            hr.Stores.timestamped_window("s", retention=SECOND, window_size=SECOND),
            "with_timestamps",
            "ReadOnlyWindowStore",
        ),
        (
            hr.Stores.timestamped_window_with_headers("s", retention=SECOND, window_size=SECOND),
            None,
            "ReadOnlyTimestampedWindowStoreWithHeaders",
        ),
        (hr.Stores.session("s", retention=SECOND), None, "ReadOnlySessionStore"),
        (hr.Stores.session_with_headers("s", retention=SECOND), None, "ReadOnlySessionStoreWithHeaders"),
        (hr.Stores.session_with_headers("s", retention=SECOND), "with_headers", "ReadOnlySessionStore"),
        (hr.Stores.versioned_key_value("s", history=SECOND), None, "ReadOnlyVersionedKeyValueStore"),
    ],
)
def test_what_a_query_sees_of_a_store_is_named_as_its_public_type(spec, read, name):
    assert name in hr.__all__
    view = make_view(spec, [MemoryStore()], (serdes.String(), serdes.String()))
    with pytest.raises(UnknownNameError, match=f"^'{name}' object has no attribute 'foo'"):
        (view if read is None else getattr(view, read)()).foo  # noqa: B018


def test_the_error_is_an_attribute_error_and_a_streams_error():
    assert issubclass(UnknownNameError, AttributeError)
    assert issubclass(UnknownNameError, hr.StreamsError)


def test_importing_a_class_of_kafka_streams_says_how_it_is_written_here():
    with pytest.raises(ImportError, match=r"Its options are keyword arguments here: stream\.to\("):
        from headrace import Produced  # noqa: F401
    with pytest.raises(ImportError, match="Did you mean 'Long'"):
        from headrace.serdes import Lnog  # noqa: F401


def test_context_and_stores_of_a_processor_answer_guesses():
    answers = []

    class Guessing(hr.Processor):
        def process(self, record):
            for thing, guess in [
                (self.context, "getStateStore"),
                (self.context, "currentStreamTimeMs"),
                (self.context.state_store("seen"), "putIfAbsent"),
                (self, "punctuate"),
            ]:
                with pytest.raises(UnknownNameError) as refused:
                    getattr(thing, guess)
                answers.append(str(refused.value).partition(". ")[2])

    seen = hr.Stores.key_value("seen")
    testing.run_stream(lambda stream: stream.process(Guessing, stores=[seen]), ("k", 1, 1))
    assert answers == [
        "Use state_store(name).",
        "Did you mean 'current_stream_time_ms'?",
        "Did you mean 'put_if_absent'?",
        "Schedule it: context.schedule(interval, PunctuationType.STREAM_TIME, callback).",
    ]


def test_a_processor_with_a_getattr_of_its_own_keeps_it():
    class Delegating(hr.Processor):
        def process(self, record):
            pass

        def __getattr__(self, name):
            return f"delegated {name}"

    assert Delegating().mapValues == "delegated mapValues"


def test_records_windows_and_settings_can_still_be_copied_and_pickled():
    things = [hr.Record("k", 1, 2), hr.TimeWindows.of(SECOND), hr.To.child("a"), hr.BufferConfig.unbounded()]
    for thing in things:
        assert copy.deepcopy(thing) == thing
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_every_public_class_answers_a_guess():
    silent = []
    for name in hr.__all__:
        kind = getattr(hr, name)
        if not isinstance(kind, type) or issubclass(kind, Exception | tuple | enum.Enum) or Protocol in kind.__bases__:
            continue  # a function, or a class without names to guess
        if not any("__getattr__" in vars(base) for base in kind.__mro__):
            silent.append(name)
    assert silent == []
