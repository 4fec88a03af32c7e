import time

import pytest

from headrace import serdes
from headrace._core.partitioning import partition_for
from headrace.errors import SerdeError, TopicError
from headrace.model.record import Record
from headrace.topics import records as encoding
from headrace.topics.embedded.topics import LocalTopics
from headrace.topics.record_topics import TopicDescription


@pytest.fixture
def topics(tmp_path):
    return LocalTopics(tmp_path / "topics")


def rows(records):
    return [(r.partition, r.key, r.value, r.timestamp_ms, r.headers) for r in records]


def test_topics_are_created_listed_and_described(topics):
    topics.create("b", partitions=2)
    topics.create("a")
    assert topics.list() == ["a", "b"]
    assert topics.describe("a") == TopicDescription("a", (0, 0, 0, 0), (0, 0, 0, 0))
    assert topics.describe("b").partitions == 2


def test_a_directory_that_does_not_exist_has_no_topics(topics):
    assert topics.list() == []


def test_creating_twice(topics):
    topics.create("a", 2)
    with pytest.raises(TopicError, match="'a' already exists"):
        topics.create("a", 2)
    topics.create("a", 2, exist_ok=True)


def test_records_are_read_by_partition_and_then_offset(topics):
    topics.create("t", 3)
    assert topics.produce("t", [Record(f"k{i}", {"n": i}, i) for i in range(20)]) == 20
    assert topics.produce("t", [Record("k0", None, 5)]) == 1
    written = [(partition_for(f"k{i}".encode(), 3), f"k{i}", {"n": i}, i, ()) for i in range(20)]
    written.append((partition_for(b"k0", 3), "k0", None, 5, ()))
    assert rows(topics.read("t")) == sorted(written, key=lambda row: row[0])
    assert topics.describe("t").records == 21


def test_a_record_may_choose_its_partition(topics):
    topics.create("t", 3)
    topics.produce(
        "t", [Record("k", 1, 0, partition=2), Record("k", 2, 0, partition=0), Record(None, 3, 0, partition=2)]
    )
    assert rows(topics.read("t")) == [(0, "k", 2, 0, ()), (2, "k", 1, 0, ()), (2, None, 3, 0, ())]


@pytest.mark.parametrize("partition", [-1, 3])
def test_an_unknown_partition_refuses_the_whole_call(topics, partition):
    topics.create("t", 3)
    with pytest.raises(TopicError, match=f"'t' has no partition {partition}; it has 3, counted from 0"):
        topics.produce("t", [Record("a", 1, 0), Record("k", 1, 0, partition=partition)])
    assert topics.read("t") == []


def test_records_without_a_key_go_to_partitions_in_turn_across_calls(topics):
    topics.create("t", 3)
    topics.produce("t", [Record(None, i, 0) for i in range(4)])
    topics.produce("t", [Record(None, 4, 0)])
    assert rows(topics.read("t")) == [
        (0, None, 0, 0, ()),
        (0, None, 3, 0, ()),
        (1, None, 1, 0, ()),
        (1, None, 4, 0, ()),
        (2, None, 2, 0, ()),
    ]


def test_headers_and_serdes(topics):
    topics.create("t", 1)
    record = Record(7, 2.5, 12, (("trace", b"\x01"), ("empty", None), ("trace", b"")))
    topics.produce("t", [record, Record(8, 3.5, 13)], key_serde=serdes.Long(), value_serde=serdes.Double())
    assert topics.read("t", key_serde=serdes.Long(), value_serde=serdes.Double()) == [record, Record(8, 3.5, 13)]


def test_a_record_without_a_timestamp_gets_the_current_time(topics):
    topics.create("t", 1)
    before = time.time_ns() // 1_000_000
    topics.produce("t", [Record("k", 1), Record("k", 2, 0)])
    now, zero = (record.timestamp_ms for record in topics.read("t"))
    assert before <= now <= time.time_ns() // 1_000_000
    assert zero == 0


def test_order_and_round_robin_continue_across_chunks(topics, monkeypatch):
    monkeypatch.setattr(encoding, "_CHUNK", 3)
    topics.create("t", 2)
    assert topics.produce("t", (Record(None, i, i) for i in range(10))) == 10
    assert [record.value for record in topics.read("t")] == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]


def test_producing_nothing(topics):
    topics.create("t", 2)
    assert topics.produce("t", []) == 0
    assert topics.read("t") == []


def test_errors_about_unknown_topics_list_the_known_ones(topics):
    topics.create("clicks", 1)
    topics.create("users", 1)
    expected = (
        "^Topic 'click' does not exist. Did you mean 'clicks'. Known topics: 'clicks', 'users'. Create it first.$"
    )
    for use in (lambda: topics.produce("click", []), lambda: topics.read("click"), lambda: topics.describe("click")):
        with pytest.raises(TopicError, match=expected):
            use()


def test_a_value_that_cannot_be_serialized_is_named_and_nothing_is_written(topics, monkeypatch):
    monkeypatch.setattr(encoding, "_CHUNK", 2)
    topics.create("t", 1)
    records = [Record("a", 1, 0), Record("b", 2, 0), Record("c", 3, 0), Record("d", object(), 0)]
    with pytest.raises(SerdeError, match=r"^Topic 't', value of record 3 of this call: .*Json"):
        topics.produce("t", records)
    with pytest.raises(SerdeError, match=r"^Topic 't', key of record 0 of this call: .*String"):
        topics.produce("t", [Record(5, 1, 0)])
    assert topics.read("t") == []
    assert not list((topics._log.segments).glob("*"))


def test_bytes_that_cannot_be_deserialized_are_named(topics):
    topics.create("t", 2)
    topics.produce("t", [Record("a", b"1", 0, partition=1)], value_serde=serdes.Bytes())
    topics.produce(
        "t", [Record("a", b"2", 0, partition=1), Record("a", b"{", 0, partition=1)], value_serde=serdes.Bytes()
    )
    with pytest.raises(SerdeError, match=r"^Topic 't', partition 1, offset 2, value: .*Json"):
        topics.read("t")


def test_a_failing_iterable_writes_nothing(topics):
    topics.create("t", 1)

    def records():
        yield Record("a", 1, 0)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        topics.produce("t", records())
    assert topics.read("t") == []


@pytest.mark.parametrize("record", [("k", 1), None, "text"])
def test_only_records_are_accepted(topics, record):
    topics.create("t", 1)
    with pytest.raises(TopicError, match=r"takes records, not .*; pass Record"):
        topics.produce("t", [Record("a", 1, 0), record])


@pytest.mark.parametrize(
    ("record", "column"),
    [
        (Record("k", 1, 0, (("\ud800", b""),)), "headers"),
    ],
)
def test_values_that_arrow_cannot_store_are_refused(topics, record, column):
    topics.create("t", 1)
    with pytest.raises(TopicError, match=f"Topic 't' stores the {column} of a record as"):
        topics.produce("t", [record])


def test_two_handles_see_the_records_of_each_other(topics, tmp_path):
    other = LocalTopics(str(tmp_path / "topics"))
    topics.create("t", 1)
    other.produce("t", [Record("k", 1, 0)])
    assert topics.read("t") == other.read("t") == [Record("k", 1, 0)]
    assert repr(other) == f"LocalTopics({str(tmp_path / 'topics')!r})"


def test_a_file_instead_of_a_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TopicError, match="is a file, not a topics directory"):
        LocalTopics(tmp_path / "file")
