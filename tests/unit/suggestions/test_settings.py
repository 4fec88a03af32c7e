"""Settings of Kafka Streams that are named differently here: the error names ours."""

from __future__ import annotations

import pytest

from headrace import ConfigError, StreamsConfig, serdes


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("errors.dead.letter.queue.topic.name", "Use 'dead_letter_topic'."),
        ("default.deserialization.exception.handler", "Use 'deserialization_exception_handler'."),
        ("cache.max.bytes.buffering", "Use 'statestore_cache_max_bytes'."),
        ("buffered.records.per.partition", "Use 'max_records_per_batch'."),
        ("num.stream.threads", "It has no meaning here: Spark assigns tasks to its cores and executors."),
        ("rack.aware.assignment.strategy", "Spark assigns tasks"),
        ("replication.factor", "there are no changelog or repartition topics on Kafka."),
        ("rocksdb.config.setter", "there is one kind of state store."),
        ("security.protocol", "It is a setting of the Kafka client: kafka={'security.protocol': ...}"),
        ("consumer.fetch.min.bytes", "kafka={'fetch.min.bytes': ...}"),
        ("applicationId", "Did you mean 'application_id'?"),
        ("state_dri", "Did you mean 'state_dir'?"),
    ],
)
def test_a_setting_of_kafka_streams_is_explained(name, said):
    with pytest.raises(ConfigError) as refused:
        StreamsConfig.from_mapping({"application.id": "a", name: "1"})
    assert said in str(refused.value)


def test_a_keyword_in_milliseconds_is_told_to_be_a_timedelta():
    with pytest.raises(ConfigError, match="Did you mean 'commit_interval', a timedelta"):
        StreamsConfig(application_id="a", commit_interval_ms=100)


@pytest.mark.parametrize("value", ["abc", None, "1e400"])
def test_milliseconds_that_are_no_number_are_a_config_error(value):
    with pytest.raises(ConfigError, match=r"commit\.interval\.ms is .*; it must be a number of milliseconds"):
        StreamsConfig.from_mapping({"application.id": "a", "commit.interval.ms": value})


@pytest.mark.parametrize("extractor", ["wallclock", 5, lambda record: 1])
def test_a_default_extractor_that_cannot_be_called_is_refused(extractor):
    with pytest.raises(ConfigError, match=r"it must be a function \(record, partition_time_ms\) -> timestamp_ms"):
        StreamsConfig(application_id="a", default_timestamp_extractor=extractor)


@pytest.mark.parametrize("serde", [serdes.String, "string", str])
def test_a_default_serde_that_is_not_a_serde_is_refused(serde):
    with pytest.raises(ConfigError, match=r"write default_key_serde=serdes\.String\(\)"):
        StreamsConfig(application_id="a", default_key_serde=serde)


@pytest.mark.parametrize(("text", "value"), [("false", False), ("TRUE", True)])
def test_flags_may_be_text_in_a_mapping(text, value):
    config = StreamsConfig.from_mapping({"application.id": "a", "allow.stream.time.key.tracking": text})
    assert config.allow_stream_time_key_tracking is value
