"""Intended differences from Kafka Streams: derives the expected output from the recorded output.

`conformance/deviations.md` says why.
"""

from __future__ import annotations

import headrace as hr
import headrace.testing
from conformance import functions as f
from conformance.catalogue import TOPOLOGIES
from conformance.topologies.pipelines import by_inner_key
from tests.golden.goldens import as_recorded

# Their wall-clock schedules have no shift, and one counts in memory: a restart of the task resets them.
RESET_BY_RESTART = {"punctuate-wall-clock", "punctuate-cancel", "punctuate-flush"}

# Kafka Streams fails on their last step, Headrace accepts it.
ACCEPTED = {"stream-table-left-join-with-grace"}


def expected(golden, restarts=()):
    """The outputs a replay must have, if tasks are restarted before the steps with these numbers."""
    if golden.id == "punctuate-stream-time":
        return _stream_time_from_the_first_record(golden, set(restarts))
    rule = _RULES.get(golden.id)
    outputs = golden.outputs if rule is None else rule(golden)
    graph = golden.topology()._graph
    if not graph.dynamic_sinks:
        return outputs
    # A topic that a function chooses does not exist before its first record.
    return {topic: records for topic, records in outputs.items() if records or topic in graph.sink_topics}


def _stream_time_from_the_first_record(golden, restarts):
    """Kafka Streams counts the intervals of a schedule from 0, Headrace from the first record."""
    interval, time_ms, due_ms, written = golden.params["interval"], -1, None, []
    for number, (_, key, value, timestamp_ms, *headers) in enumerate(golden.steps):
        time_ms = max(time_ms, timestamp_ms)
        written.append([key, value, timestamp_ms, *(listed for listed in headers if listed)])
        if due_ms is None or number in restarts:
            due_ms = time_ms
        if due_ms <= time_ms:
            written.append(["tick", str(time_ms), time_ms])
        while due_ms <= time_ms:
            due_ms += interval
    return {"out": written}


def _without_group_zero(golden):
    """Kafka Streams subtracts the first count of a key from a group "n0" of keys counted 0 times."""
    return {topic: [record for record in records if record[0] != "n0"] for topic, records in golden.outputs.items()}


def _without_first_counts(golden):
    """Kafka Streams treats the first count of a key, 1, as a change from 0, an even count, which it then deletes."""
    first = {}
    for number, step in enumerate(golden.steps):
        if step[1] is not None and step[2] is not None:
            first.setdefault(step[1], number)
    return {
        topic: [
            record for record, cause in zip(records, golden.causes[topic], strict=True) if cause not in first.values()
        ]
        for topic, records in golden.outputs.items()
    }


def _as_with_caching(golden):
    """Without caching, Kafka Streams loses windows that time jumps over, and invents an old value for first results."""
    return golden.cached_outputs


def _headers_of_the_cause(golden):
    """Without caching, Kafka Streams loses the headers of records that change sessions."""
    return {
        topic: [
            [*record[:3], *golden.steps[cause][4:5]]
            for record, cause in zip(records, golden.causes[topic], strict=True)
        ]
        for topic, records in golden.outputs.items()
    }


def _last_updates_of_closed_windows(update_id):
    """Kafka Streams loses sliding windows that time jumps over, even with caching; none may be lost.

    The expected output follows from the updates of the same aggregation without final results.
    """

    def finals(golden):
        difference_ms, grace_ms = golden.params["difference"], golden.params.get("grace", 0)
        waiting, written, time_ms = {}, [], -1
        with hr.testing.TopologyTestDriver(TOPOLOGIES[update_id](**golden.params), wall_clock_ms=0) as driver:
            for step in golden.steps:
                driver.input_topic("in").pipe(*step[1:4])
                if step[1] is not None and step[2] is not None:
                    time_ms = max(time_ms, step[3])
                    if step[3] >= difference_ms:
                        closed = [key for key in waiting if key.window.end_ms < time_ms - grace_ms]
                        closed.sort(key=lambda key: (key.window, key.key))
                        written += [as_recorded(waiting.pop(key)) for key in closed]
                for record in driver.output_topic("out").read_all():
                    waiting[record.key] = record
        return {"out": written}

    return finals


def _aggregates_of_what_was_emitted(emitting_id, by_group):
    """The old value of a suppressed update is the last one held back in Kafka Streams, in Headrace the last emitted.

    The expected output follows from what the same table emits without an aggregation after it.
    """

    def aggregates(golden):
        with hr.testing.TopologyTestDriver(TOPOLOGIES[emitting_id](**golden.params), wall_clock_ms=0) as driver:
            for step in golden.steps:
                driver.input_topic("in").pipe(*step[1:4])
            emissions = driver.output_topic("out").read_all()
        emitted, rows, written = {}, {}, []
        for record in emissions:
            before, now = emitted.get(record.key), record.value
            old, new = (None if value is None else by_group(record.key, value) for value in (before, now))
            emitted[record.key] = record.value
            within = old is not None and new is not None and old[0] == new[0]
            for group, removed, added in [(new[0], old[1], new[1])] if within else _moves(old, new):
                aggregate, timestamp_ms = rows.get(group, (None, record.timestamp_ms))
                if aggregate is not None and removed is not None:
                    aggregate = f.minus(group, removed, aggregate)
                if added is not None:
                    aggregate = f.plus(group, added, aggregate or f.empty())
                rows[group] = aggregate, max(timestamp_ms, record.timestamp_ms)
                written.append([group, *rows[group]])
        return {"out": written}

    return aggregates


def _outer_join_of_what_was_emitted(golden):
    """As above, so in Kafka Streams the join receives deletions of rows that were never emitted."""
    emitted, waiting, right, written = {}, set(), {}, []

    def join(key, left_value, right_value, timestamp_ms):
        has_value = left_value is not None or right_value is not None
        written.append([key, f.joined(left_value, right_value) if has_value else None, timestamp_ms])

    with hr.testing.TopologyTestDriver(TOPOLOGIES["suppress-time-limit"](**golden.params), wall_clock_ms=0) as driver:
        for topic, key, value, timestamp_ms, *_ in golden.steps:
            if key is None:
                continue
            if topic == "left":
                waiting.add(key)
                driver.input_topic("in").pipe(key, value, timestamp_ms)
                for record in driver.output_topic("out").read_all():
                    before, _ = emitted.get(record.key, (None, -1))
                    emitted[record.key] = record.value, record.timestamp_ms
                    waiting.discard(record.key)
                    if before is not None or record.value is not None or record.key in right:
                        partner, partner_ms = right.get(record.key, (None, -1))
                        join(record.key, record.value, partner, max(record.timestamp_ms, partner_ms))
            else:
                old, _ = right.pop(key, (None, -1))
                if value is not None:
                    right[key] = value, timestamp_ms
                left_value, left_ms = emitted.get(key, (None, -1))
                if left_value is not None or old is not None or value is not None:
                    known_ms = -1 if key in waiting or left_value is None else left_ms
                    join(key, left_value, value, max(timestamp_ms, known_ms))
    return {"out": written}


def _null_key_joins_nothing(golden):
    """Kafka Streams fails on a record without a key; Headrace joins it with nothing at once."""
    if golden.error is None:
        return golden.outputs
    _, key, value, timestamp_ms, *_ = golden.steps[-1]
    assert key is None
    return {"out": [*golden.outputs.get("out", []), [None, f.joined(value, None), timestamp_ms]]}


def _rows_without_a_partner_lose_their_results(golden):
    """Kafka Streams does not delete the result of a row that one record changes twice, from one partner to none."""
    if golden.params["kind"] == "left":
        return golden.outputs
    right, foreign, written = {}, {}, []
    for number, (topic, key, value, timestamp_ms, *_) in enumerate(golden.steps):
        caused = [r for r, cause in zip(golden.outputs["out"], golden.causes["out"], strict=True) if cause == number]
        if key is not None and topic == "right":
            right[key] = value
        elif key is not None:
            before, foreign[key] = foreign.get(key), f.group(f.show(value))
            if not caused and before not in (None, foreign[key]) and right.get(foreign[key]) is None:
                caused = [[key, None, timestamp_ms]]
        written += caused
    return {"out": written}


def _each_record_twice(golden):
    """In Kafka Streams, a stream merged with itself has each record once."""
    return {"out": [record for record in golden.outputs["out"] for _ in range(2)]}


def _moves(old, new):
    """The events of a row that moves: it leaves one group, then joins another; rows without a group cause none."""
    moves = [] if old is None else [(old[0], old[1], None)]
    moves += [] if new is None else [(new[0], None, new[1])]
    return [move for move in moves if move[0] is not None]


_RULES = {
    "count-of-counts": _without_group_zero,
    "filtered-count": _without_first_counts,
    "foreign-key-join-of-rows-that-change-twice": _rows_without_a_partner_lose_their_results,
    "merge-with-itself": _each_record_twice,
    "session-window-aggregate": _headers_of_the_cause,
    "sliding-window-final-aggregate": _last_updates_of_closed_windows("sliding-window-aggregate"),
    "sliding-window-final-count": _last_updates_of_closed_windows("sliding-window-count"),
    "stream-table-left-join-with-grace": _null_key_joins_nothing,
    "suppress-and-join": _outer_join_of_what_was_emitted,
    "suppress-and-aggregate": _aggregates_of_what_was_emitted("suppress-time-limit", f.by_group),
    "suppress-time-window-and-aggregate": _aggregates_of_what_was_emitted("suppress-time-window", by_inner_key),
    "time-window-filtered-count": _as_with_caching,
    "time-window-final-aggregate": _as_with_caching,
    "time-window-final-count": _as_with_caching,
    "time-window-table-aggregate": _as_with_caching,
}
