"""What a topic of Kafka takes: told of a batch at once only if it holds for every record of it."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.topics.kafka_rules import NO_LIMIT_MS, Outgoing, TopicRules

NOW_MS = 1_000_000

SETTINGS = {
    "max.message.bytes": "1000",
    "cleanup.policy": "compact,delete",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": "900",
    "message.timestamp.after.max.ms": "100",
}


def refused(rules, key=b"k", value=b"v", timestamp_ms=NOW_MS):
    refusal = rules.refusal(Outgoing("t", 0, key, value, timestamp_ms, ()), NOW_MS)
    return None if refusal is None else refusal.reason


def test_settings_of_a_topic_decide_about_size_key_and_time():
    rules = TopicRules.of(SETTINGS, compressed=False)
    assert rules == TopicRules(1000, False, True, 900, 100)
    assert [refused(rules, value=b"x" * length) for length in (900, 1000)] == [None, "record too large"]
    assert refused(rules, key=None) == "key missing"
    assert [refused(rules, timestamp_ms=NOW_MS + ahead_ms) for ahead_ms in (-901, -900, 100, 101)] == [
        "timestamp out of range",
        None,
        None,
        "timestamp out of range",
    ]
    assert refused(TopicRules(), timestamp_ms=0) == "timestamp out of range"


def test_broker_judges_the_size_of_compressed_records_and_no_time_where_it_gives_its_own():
    settings = {**SETTINGS, "cleanup.policy": "delete", "message.timestamp.type": "LogAppendTime"}
    rules = TopicRules.of(settings, compressed=True)
    assert rules == TopicRules(1000, True, False, NO_LIMIT_MS, NO_LIMIT_MS)
    assert refused(rules, None, b"x" * 5_000, 1) is None


def test_timestamp_becomes_the_nearest_that_is_taken():
    rules = TopicRules(before_ms=2 * NOW_MS, after_ms=100)
    assert [rules.nearest_ms(time_ms, NOW_MS) for time_ms in (-7, 0, 5, NOW_MS + 100, NOW_MS + 101)] == [
        1,
        1,
        5,
        NOW_MS + 100,
        NOW_MS,
    ]


ROWS = st.lists(
    st.tuples(
        st.none() | st.binary(max_size=60),
        st.none() | st.binary(max_size=60),
        st.integers(0, 5) | st.integers(NOW_MS - 1_000, NOW_MS + 200),
    ),
    min_size=1,
    max_size=5,
)
RULES = st.builds(
    TopicRules, st.none() | st.integers(100, 250), st.booleans(), st.booleans(), st.just(900), st.just(100)
)


@given(ROWS, RULES)
@example([(b"k", b"v", NOW_MS)], TopicRules(200, after_ms=100))
def test_batch_that_is_taken_as_a_whole_has_no_record_that_is_refused(rows, rules):
    keys, values, times = zip(*rows, strict=True)
    columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary()), pa.array(times, pa.int64())]
    batch = pa.RecordBatch.from_arrays(columns, names=["key", "value", "timestamp"])
    reasons = {refused(rules, *row) for row in rows}
    if rules.takes_all(batch, NOW_MS):
        assert reasons == {None}
    elif rules.max_bytes is None or rules.compressed:
        assert reasons != {None}
