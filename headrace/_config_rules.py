"""The rules for the values of an application's settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from headrace._suggestions.arity import checked_arity
from headrace.errors import ConfigError, TopologyError
from headrace.model.error_handlers import RESPONSES
from headrace.model.offset_reset import offset_reset_of
from headrace.serdes.checks import checked_serde

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_APPLICATION_ID = re.compile(r"[A-Za-z0-9._-]{1,200}")

_GUARANTEES = ("exactly_once_v2", "exactly_once", "at_least_once")
_DYNAMIC_TOPICS = ("create", "refuse")
# Settings of the Kafka client that users may not set: exactly-once depends on them, or `StreamsConfig` has its own.
_OWN_KAFKA_SETTINGS = {
    "bootstrap.servers": "set bootstrap_servers",
    "group.id": "it is always the application_id",
    "auto.offset.reset": "set auto_offset_reset",
    "transactional.id": "it is derived from the application_id",
    "enable.idempotence": "it is always on",
    "isolation.level": "it is always read_committed",
    "enable.auto.commit": "offsets are committed with each micro-batch",
    "enable.partition.eof": "it is always on",
}
_REQUEST_TIMEOUT = timedelta(seconds=10)

_ERROR_HANDLERS = ("deserialization_exception_handler", "processing_exception_handler", "production_exception_handler")

# The versions of Kafka Streams before KIP-904, see `writes_two_events`.
_TWO_EVENTS = (
    *("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1"),
    *(f"2.{minor}" for minor in range(9)),
    *(f"3.{minor}" for minor in range(5)),
)
_VERSIONS = (*_TWO_EVENTS, "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3")

_FLAGS = ("allow_stream_time_key_tracking", "sync_state", "ensure_explicit_internal_resource_naming")
_MAPPINGS = {
    "kafka": '{"security.protocol": "SSL"}',
    "spark": '{"spark.master": "local[2]"}',
    "app_configs": '{"shop.currency": "CHF"}',
}


def writes_two_events(upgrade_from: str | None) -> bool:
    """Whether version `upgrade_from` of Kafka Streams is older than KIP-904, so before 3.5; false for `None`.

    If the row of a grouped table changes, but stays in its group, these versions write two records to the repartition
    topic: one to subtract the old value, one to add the new value. Later versions write one record with both values.
    Headrace does the same as the version.
    """
    return upgrade_from in _TWO_EVENTS


def is_address(directory: object) -> bool:
    """Whether a text is an address such as `s3a://bucket/path`, not a path of a file system."""
    return _ADDRESS.match(str(directory)) is not None


def check(settings: Mapping[str, Any]) -> None:
    """Checks the values of all settings.

    Raises:
        ConfigError: if a value is not allowed; the message names the setting, its value, and what is allowed.
    """
    application_id = settings["application_id"]
    is_name = isinstance(application_id, str) and _APPLICATION_ID.fullmatch(application_id)
    if not is_name or application_id in (".", ".."):
        message = (
            f"application_id is {application_id!r}; it must be 1-200 letters, digits, '.', '_' or '-', and neither '.' "
            "nor '..', because it names a directory."
        )
        raise ConfigError(message)
    _check_cache(settings["statestore_cache_max_bytes"])
    if settings["upgrade_from"] is not None and settings["upgrade_from"] not in _VERSIONS:
        message = f"upgrade_from is {settings['upgrade_from']!r}; allowed: None, {', '.join(map(repr, _VERSIONS))}."
        raise ConfigError(message)
    _check_flags_and_mappings(settings)
    _check_choice("processing_guarantee", settings["processing_guarantee"], _GUARANTEES)
    _check_choice("dynamic_topics", settings["dynamic_topics"], _DYNAMIC_TOPICS)
    _check_kafka(settings)
    for name in ("commit_interval", "state_retention"):
        _check_duration(name, settings[name])
    _check_timestamps_ahead(settings)
    _check_error_handlers(settings)
    _check_optional_duration("stream_time_key_idle", settings["stream_time_key_idle"])
    if settings["stream_time_key_idle"] is not None and not settings["allow_stream_time_key_tracking"]:
        message = (
            "stream_time_key_idle closes the windows of an idle key, so each key needs its own stream time: set "
            "allow_stream_time_key_tracking=True as well."
        )
        raise ConfigError(message)
    _check_processors(settings)
    _check_positive("max_records_per_batch", settings["max_records_per_batch"])
    if settings["spark_partitions"] is not None:
        _check_positive("spark_partitions", settings["spark_partitions"])
    for name in ("topics_dir", "state_dir", "local_dir"):
        if is_address(settings[name]):
            message = (
                f"{name} is {str(settings[name])!r}, an address; it must be a directory of a file system. On a "
                "cluster, mount a directory that all machines share."
            )
            raise ConfigError(message)
    _check_defaults(settings)


def _check_defaults(settings: Mapping[str, Any]) -> None:
    for name in ("default_key_serde", "default_value_serde"):
        if settings[name] is not None:
            checked_serde(settings[name], name, name, ConfigError)
    extractor = settings["default_timestamp_extractor"]
    try:
        checked_arity(extractor, "default_timestamp_extractor", "extractor(record, partition_time_ms)")
    except TopologyError as error:
        message = (
            f"default_timestamp_extractor is {extractor!r}; it must be a function (record, partition_time_ms) -> "
            "timestamp_ms, such as hr.use_partition_time_on_invalid_timestamp."
        )
        raise ConfigError(message) from error


def _check_processors(settings: Mapping[str, Any]) -> None:
    wrapper, idle = settings["processor_wrapper"], settings["max_task_idle"]
    if wrapper is not None and not callable(wrapper):
        message = (
            f"processor_wrapper is {wrapper!r}; it must be None, or a function (name, process) that returns a function "
            "to call instead of process(record)."
        )
        raise ConfigError(message)
    if idle != timedelta(0):
        message = (
            f"max_task_idle is {idle!r}; it must be timedelta(0). On Spark, a micro-batch takes all records that exist "
            "when it is planned and merges the topics by timestamp, so a slow input is never overtaken by records that "
            "are there already, and records that are still to come are not waited for. To let more records gather "
            "before they are merged, set commit_interval; to accept late ones, give windows and joins a grace."
        )
        raise ConfigError(message)


def _check_flags_and_mappings(settings: Mapping[str, Any]) -> None:
    for name in _FLAGS:
        if not isinstance(settings[name], bool):
            message = f"{name} is {settings[name]!r}; it must be True or False."
            raise ConfigError(message)
    for name in _MAPPINGS:
        if not isinstance(settings[name], Mapping):
            kind = type(settings[name]).__name__  # the value itself may hold a password
            message = f"{name} is of type {kind}; it must be a dictionary of settings, such as {_MAPPINGS[name]}."
            raise ConfigError(message)


def _check_kafka(settings: Mapping[str, Any]) -> None:
    servers, client_settings = settings["bootstrap_servers"], settings["kafka"]
    offset_reset_of(settings["auto_offset_reset"], "auto_offset_reset", ConfigError)
    if servers is not None and (not isinstance(servers, str) or not servers.strip()):
        message = f"bootstrap_servers is {servers!r}; it must be text like 'host:9092', with commas between brokers."
        raise ConfigError(message)
    if servers is not None and settings["topics_dir"] is not None:
        message = (
            f"bootstrap_servers={servers!r} and topics_dir={str(settings['topics_dir'])!r} exclude each other: topics "
            "are either on Kafka or embedded in a directory. Leave one of them out."
        )
        raise ConfigError(message)
    if not isinstance(settings["task_timeout"], timedelta) or settings["task_timeout"] < _REQUEST_TIMEOUT:
        message = (
            f"task_timeout is {settings['task_timeout']!r}; it must be a timedelta of {_REQUEST_TIMEOUT.seconds} "
            "seconds or more: a single request to a broker may take that long."
        )
        raise ConfigError(message)
    if servers is None and client_settings:
        message = "kafka applies only to topics on Kafka: set bootstrap_servers as well, or leave it out."
        raise ConfigError(message)
    for name in client_settings or {}:
        if name in _OWN_KAFKA_SETTINGS:
            message = f"kafka={{{name!r}: ...}} cannot be set: {_OWN_KAFKA_SETTINGS[name]}."
            raise ConfigError(message)


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        message = f"{name} is {value!r}; allowed: {', '.join(map(repr, allowed))}."
        raise ConfigError(message)


def _check_timestamps_ahead(settings: Mapping[str, Any]) -> None:
    ahead, handler = settings["max_timestamp_ahead"], settings["timestamp_ahead_handler"]
    _check_optional_duration("max_timestamp_ahead", ahead)
    _check_choice("timestamp_ahead_handler", handler, RESPONSES)
    if ahead is None and handler != "fail":
        message = (
            f"timestamp_ahead_handler is {handler!r}, but max_timestamp_ahead is None, so it would never be called: "
            "set max_timestamp_ahead as well."
        )
        raise ConfigError(message)


def _check_error_handlers(settings: Mapping[str, Any]) -> None:
    for name in _ERROR_HANDLERS:
        if not callable(settings[name]) and settings[name] not in RESPONSES:
            message = (
                f"{name} is {settings[name]!r}; allowed: {', '.join(map(repr, RESPONSES))}, or a function that takes "
                "an ErrorHandlerContext and returns one of these."
            )
            raise ConfigError(message)
    topic, names = settings["dead_letter_topic"], (*_ERROR_HANDLERS, "timestamp_ahead_handler")
    writing = [name for name in names if settings[name] == "dead_letter"]
    if writing and (not isinstance(topic, str) or not topic):
        message = f"{writing[0]}='dead_letter' needs a topic to write to; dead_letter_topic is {topic!r}."
        raise ConfigError(message)
    if topic is not None and not writing and not any(callable(settings[name]) for name in _ERROR_HANDLERS):
        message = (
            f"dead_letter_topic={topic!r}, but no handler writes to it: set one of {', '.join(names)} to 'dead_letter'."
        )
        raise ConfigError(message)


def _check_cache(max_bytes: object) -> None:
    if not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or max_bytes < 0:
        message = (
            f"statestore_cache_max_bytes is {max_bytes!r}; it must be a whole number of bytes, for example 10_485_760, "
            "or 0 to forward every update."
        )
        raise ConfigError(message)


def _check_positive(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"{name} is {value!r}; it must be a whole number of 1 or more."
        raise ConfigError(message)


def _check_duration(name: str, value: object) -> None:
    if not isinstance(value, timedelta) or value < timedelta(0):
        message = f"{name} is {value!r}; it must be a timedelta of 0 or more."
        raise ConfigError(message)


def _check_optional_duration(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, timedelta) or value < timedelta(milliseconds=1)):
        message = f"{name} is {value!r}; it must be None, or a timedelta of a millisecond or more."
        raise ConfigError(message)
