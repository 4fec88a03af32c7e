"""Which records a Kafka topic refuses: the same ones in a batch as one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.topics.batches import concatenate
from headrace.topics.kafka.rules import NO_LIMIT_MS, OutgoingRecord, TopicRules
from headrace.topics.kafka.send import OutgoingBatch

NOW_MS = 1_000_000

SETTINGS = {
    "max.message.bytes": "1000",
    "cleanup.policy": "compact,delete",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": "900",
    "message.timestamp.after.max.ms": "100",
}


def refusal_reason(rules, key=b"k", value=b"v", timestamp_ms=NOW_MS):
    refusal = rules.refusal(OutgoingRecord("t", 0, key, value, timestamp_ms, ()), NOW_MS)
    return None if refusal is None else refusal.reason


def test_settings_of_a_topic_decide_about_size_key_and_time():
    rules = TopicRules.of(SETTINGS, compressed=False)
    assert rules == TopicRules(1000, False, True, 900, 100)
    assert [refusal_reason(rules, value=b"x" * length) for length in (900, 1000)] == [None, "record too large"]
    assert refusal_reason(rules, key=None) == "key missing"
    assert [refusal_reason(rules, timestamp_ms=NOW_MS + ahead_ms) for ahead_ms in (-901, -900, 100, 101)] == [
        "timestamp out of range",
        None,
        None,
        "timestamp out of range",
    ]
    assert refusal_reason(TopicRules(), timestamp_ms=0) == "timestamp out of range"


def test_compressed_records_are_not_checked_for_size_nor_log_append_time_for_timestamps():
    settings = {**SETTINGS, "cleanup.policy": "delete", "message.timestamp.type": "LogAppendTime"}
    rules = TopicRules.of(settings, compressed=True)
    assert rules == TopicRules(1000, True, False, NO_LIMIT_MS, NO_LIMIT_MS)
    assert refusal_reason(rules, None, b"x" * 5_000, 1) is None


def test_timestamp_out_of_range_is_replaced_by_an_accepted_one():
    rules = TopicRules(before_ms=2 * NOW_MS, after_ms=100)
    assert [rules.accepted_ms(time_ms, NOW_MS) for time_ms in (-7, 0, 5, NOW_MS + 100, NOW_MS + 101)] == [
        1,
        1,
        5,
        NOW_MS + 100,
        NOW_MS,
    ]


HEADERS = st.lists(st.tuples(st.text(max_size=9), st.none() | st.binary(max_size=40)), max_size=2).map(tuple)
TIMES = st.integers(-5, 5) | st.integers(NOW_MS - 1_000, NOW_MS + 200)
BYTES = st.none() | st.binary(max_size=60)
RECORDS = st.lists(
    st.builds(OutgoingRecord, st.just("t"), st.just(3), BYTES, BYTES, TIMES, HEADERS), min_size=1, max_size=5
)
RULES = st.builds(
    TopicRules,
    st.none() | st.integers(100, 250),
    st.booleans(),
    st.booleans(),
    st.sampled_from([900, NO_LIMIT_MS]),
    st.sampled_from([100, NO_LIMIT_MS]),
)


@given(RECORDS, RULES)
def test_a_batch_refuses_the_same_records_as_one_by_one(records, rules):
    batches = [OutgoingBatch.of(record).records for record in records]
    batch = OutgoingBatch("t", 3, concatenate(batches))
    alone = [(number, record, rules.refusal(record, NOW_MS)) for number, record in enumerate(records)]
    expected = [told for told in alone if told[2] is not None]
    assert list(batch.refusals(rules, NOW_MS)) == expected
    left = batch.without(number for number, _, _ in expected)
    assert left.records.to_pylist() == [
        row for number, row in enumerate(batch.records.to_pylist()) if number not in {told[0] for told in expected}
    ]
