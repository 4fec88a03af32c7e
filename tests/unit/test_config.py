"""Settings: Kafka's names, the values that are allowed, and what errors say about others."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import ConfigError, StreamsConfig, serdes


def test_from_mapping_accepts_kafkas_dotted_names():
    config = StreamsConfig.from_mapping(
        {"application.id": "a", "state.dir": "s", "commit.interval.ms": 1500, "max.records.per.batch": "7"}
    )
    assert (config.application_id, config.state_dir, config.commit_interval, config.max_records_per_batch) == (
        "a",
        Path("s"),
        timedelta(seconds=1.5),
        7,
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"application_id": "a", "state_dri": "x"}, "Unknown setting 'state_dri'. Did you mean 'state_dir'?"),
        ({}, "application_id is ''; it must be 1-200 letters"),
        ({"application_id": "a b"}, "application_id is 'a b'"),
        ({"application_id": "."}, "application_id is '.'; it must be 1-200 letters"),
        ({"application_id": ".."}, "and neither '.' nor '..', because it names a directory."),
        ({"application_id": "a/b"}, "application_id is 'a/b'"),
        ({"application_id": "a", "commit_interval": 3}, "commit_interval is 3; it must be a timedelta of 0 or more"),
        ({"application_id": "a", "max_records_per_batch": 0}, "max_records_per_batch is 0"),
        (
            {"application_id": "a", "default_key_serde": str},
            "is the type str: write default_key_serde=serdes.String().",
        ),
        ({"application_id": "a", "processing_guarantee": "twice"}, "processing_guarantee is 'twice'"),
        (
            {"application_id": "a", "bootstrap_servers": "h:1", "topics_dir": "t"},
            "bootstrap_servers='h:1' and topics_dir='t' exclude each other",
        ),
        ({"application_id": "a", "kafka": {"security.protocol": "SSL"}}, "set bootstrap_servers as well"),
        (
            {"application_id": "a", "bootstrap_servers": "h:1", "kafka": {"group.id": "g"}},
            "kafka={'group.id': ...} cannot be set: it is always the application_id.",
        ),
        (
            {"application_id": "a", "auto_offset_reset": "first"},
            "auto_offset_reset is 'first'; allowed: 'earliest', 'latest', 'none', or AutoOffsetReset.by_duration(",
        ),
        (
            {"application_id": "a", "bootstrap_servers": "h:1", "task_timeout": timedelta(seconds=9)},
            "it must be a timedelta of 10 seconds or more: a single request to a broker may take that long.",
        ),
        (
            {"application_id": "a", "max_timestamp_ahead": 5},
            "max_timestamp_ahead is 5; it must be None, or a timedelta",
        ),
        (
            {"application_id": "a", "stream_time_key_idle": timedelta(hours=1)},
            "each key needs its own stream time: set allow_stream_time_key_tracking=True as well",
        ),
        ({"application_id": "a", "timestamp_ahead_handler": "x"}, "allowed: 'fail', 'continue', 'dead_letter'."),
        ({"application_id": "a", "allow_stream_time_key_tracking": "false"}, "is 'false'; it must be True or False."),
        ({"application_id": "a", "sync_state": 0}, "sync_state is 0; it must be True or False."),
        ({"application_id": "a", "max_records_per_batch": True}, "max_records_per_batch is True"),
        (
            {"application_id": "a", "bootstrap_servers": "h:1", "kafka": "text"},
            "kafka is of type str; it must be a dict",
        ),
        (
            {"application_id": "a", "timestamp_ahead_handler": "continue"},
            "max_timestamp_ahead is None, so it would never be called: set max_timestamp",
        ),
        ({"application_id": "a", "dead_letter_topic": "d"}, "dead_letter_topic='d', but no handler writes to it: set"),
        (
            {"application_id": "a", "processing_exception_handler": "skip"},
            "processing_exception_handler is 'skip'; allowed: 'fail', 'continue', 'dead_letter', or a function",
        ),
        (
            {"application_id": "a", "production_exception_handler": "dead_letter"},
            "production_exception_handler='dead_letter' needs a topic to write to; dead_letter_topic is None",
        ),
        (
            {"application_id": "a", "deserialization_exception_handler": "dead_letter", "dead_letter_topic": ""},
            "deserialization_exception_handler='dead_letter' needs a topic to write to; dead_letter_topic is ''",
        ),
        (
            {
                "application_id": "a",
                "max_timestamp_ahead": timedelta(hours=1),
                "timestamp_ahead_handler": "dead_letter",
            },
            "needs a topic to write to; dead_letter_topic is None",
        ),
        (
            {"application_id": "a", "spark_partitions": 0},
            "spark_partitions is 0; it must be a whole number of 1 or more.",
        ),
        ({"application_id": "a", "spark_partitions": 1.5}, "spark_partitions is 1.5; it must be a whole number"),
        ({"application_id": "a", "state_retention": 5}, "state_retention is 5; it must be "),
        ({"application_id": "a", "state_retention": None}, "state_retention is None; it must be a timedelta"),
        ({"application_id": "a", "state_retention": timedelta(seconds=-1)}, "state_retention is datetime.timedelta("),
        (
            {"application_id": "a", "statestore_cache_max_bytes": -1},
            "statestore_cache_max_bytes is -1; it must be a whole",
        ),
        ({"application_id": "a", "statestore_cache_max_bytes": "1"}, "or 0 to forward every update"),
    ],
)
def test_invalid_settings_are_refused_with_a_reason(settings, said):
    with pytest.raises(ConfigError) as refused:
        StreamsConfig(**settings)
    assert said in str(refused.value)


def test_from_mapping_accepts_dotted_names_of_headraces_own_settings():
    config = StreamsConfig.from_mapping(
        {"application.id": "a", "spark.partitions": "4", "state.retention.ms": "250", "sync.state": False}
    )
    assert (config.spark_partitions, config.state_retention, config.sync_state) == (4, timedelta(seconds=0.25), False)


def test_state_is_synced_and_spark_partitions_follow_the_load_unless_set():
    config = StreamsConfig(application_id="a")
    assert (config.spark_partitions, config.state_retention, config.sync_state) == (None, timedelta(minutes=2), True)


def test_superseded_state_may_be_deleted_at_once():
    assert StreamsConfig(application_id="a", state_retention=timedelta(0)).state_retention == timedelta(0)


def test_from_mapping_accepts_kafkas_names_of_error_handlers():
    config = StreamsConfig.from_mapping({"application.id": "a", "processing.exception.handler": "continue"})
    assert config.processing_exception_handler == "continue"


def test_dead_letter_topic_may_be_set_for_a_handler_function():
    config = StreamsConfig(
        application_id="a", production_exception_handler=lambda context: "dead_letter", dead_letter_topic="dead"
    )
    assert config.dead_letter_topic == "dead"


def test_unknown_dotted_name_suggests_the_nearest_one():
    with pytest.raises(ConfigError, match="Did you mean 'application_id'"):
        StreamsConfig.from_mapping({"aplication.id": "a"})


def test_config_is_immutable():
    config = StreamsConfig(application_id="a")
    with pytest.raises(FrozenInstanceError, match="application_id"):
        config.application_id = "b"


def test_replace_returns_a_copy_with_all_other_settings():
    config = StreamsConfig(application_id="a", topics_dir="t", spark={"spark.master": "local[1]"})
    copy = config.replace(application_id="b", sync_state=False)
    assert (copy.application_id, copy.topics_dir, copy.spark, copy.sync_state) == (
        "b",
        Path("t"),
        {"spark.master": "local[1]"},
        False,
    )
    assert (config.state_dir, copy.state_dir) == (Path("headrace-state/a"), Path("headrace-state/b"))
    with pytest.raises(ConfigError, match="Did you mean 'state_dir'"):
        config.replace(state_dri="x")


@pytest.mark.parametrize(("text", "flag"), [("true", True), ("False", False)])
def test_from_mapping_accepts_flags_as_text(text, flag):
    settings = {"application.id": "a", "allow.stream.time.key.tracking": text}
    assert StreamsConfig.from_mapping(settings).allow_stream_time_key_tracking is flag


def test_default_serdes_are_used_where_a_stream_names_none():
    import headrace as hr
    from headrace.testing import TopologyTestDriver

    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    config = StreamsConfig(application_id="a", default_key_serde=serdes.Long(), default_value_serde=serdes.Bytes())
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in").pipe(7, b"\x00", timestamp_ms=1)
        assert driver.output_topic("out").read_all() == [hr.Record(7, b"\x00", 1)]


@pytest.mark.parametrize("name", ["topics_dir", "state_dir", "local_dir"])
@pytest.mark.parametrize(
    ("address", "shown"),
    [("s3a://bucket/words", "s3a://bucket/words"), (Path("hdfs://host/words"), "hdfs:/host/words")],
)
def test_address_instead_of_a_directory_is_refused_as_the_user_wrote_it(name, address, shown):
    with pytest.raises(ConfigError) as refused:
        StreamsConfig(application_id="words", **{name: address})
    assert str(refused.value) == (
        f"{name} is {shown!r}, an address; it must be a directory of a file system. On a cluster, mount a directory "
        "that all machines share."
    )
