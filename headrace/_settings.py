"""What settings of an application allow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from headrace.errors import ConfigError
from headrace.model.error_handlers import ANSWERS

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_APPLICATION_ID = re.compile(r"[A-Za-z0-9._-]{1,200}")

# Settings whose meaning arrives with a later capability: accepted only at their neutral value.
_NOT_YET: dict[str, tuple[Any, str]] = {
    "statestore_cache_max_bytes": (0, "the record cache"),
}

_GUARANTEES = ("exactly_once_v2", "exactly_once", "at_least_once")
_RESETS = ("earliest", "latest")
# Settings of the Kafka client on which exactly-once rests, or that have a setting here.
_OWN_KAFKA_SETTINGS = {
    "bootstrap.servers": "set bootstrap_servers",
    "group.id": "it is the application_id",
    "auto.offset.reset": "set auto_offset_reset",
    "transactional.id": "it is made of the application_id",
    "enable.idempotence": "output is always written so",
    "isolation.level": "only committed records are read",
    "enable.auto.commit": "offsets are committed with each micro-batch",
    "enable.partition.eof": "reading depends on it",
}
_ONE_REQUEST = timedelta(seconds=10)

_ERROR_HANDLERS = ("deserialization_exception_handler", "processing_exception_handler", "production_exception_handler")

# Up to here Kafka Streams told a change within a group of a table as two events.
_TWO_EVENTS = (
    *("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1"),
    *(f"2.{minor}" for minor in range(9)),
    *(f"3.{minor}" for minor in range(5)),
)
_VERSIONS = (*_TWO_EVENTS, "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3")

_FLAGS = ("allow_stream_time_key_tracking", "sync_state")
_MAPPINGS = {"kafka": '{"security.protocol": "SSL"}', "spark": '{"spark.master": "local[2]"}'}


def writes_two_events(upgrade_from: str | None) -> bool:
    """Whether a version of Kafka Streams took a change within a group of a table as two events."""
    return upgrade_from in _TWO_EVENTS


def check(given: Mapping[str, Any]) -> None:
    """Refuses settings that are not allowed.

    Raises:
        ConfigError: with the setting, what it was given, and what is allowed.
    """
    application_id = given["application_id"]
    if not isinstance(application_id, str) or not _APPLICATION_ID.fullmatch(application_id):
        message = f"application_id is {application_id!r}; it must be 1-200 letters, digits, '.', '_' or '-'."
        raise ConfigError(message)
    for name, (neutral, capability) in _NOT_YET.items():
        if given[name] != neutral:
            message = (
                f"{name}={given[name]!r} needs {capability}, which this version does not have; leave it at {neutral!r}."
            )
            raise ConfigError(message)
    if given["upgrade_from"] is not None and given["upgrade_from"] not in _VERSIONS:
        message = f"upgrade_from is {given['upgrade_from']!r}; allowed: None, {', '.join(map(repr, _VERSIONS))}."
        raise ConfigError(message)
    _check_flags_and_mappings(given)
    _check_choice("processing_guarantee", given["processing_guarantee"], _GUARANTEES)
    _check_kafka(given)
    for name in ("commit_interval", "state_retention"):
        _check_duration(name, given[name])
    _check_guard(given)
    _check_error_handlers(given)
    _check_optional_duration("stream_time_key_idle", given["stream_time_key_idle"])
    if given["stream_time_key_idle"] is not None and not given["allow_stream_time_key_tracking"]:
        message = (
            "stream_time_key_idle closes the windows of a silent key, which needs a time for each key: set "
            "allow_stream_time_key_tracking=True as well."
        )
        raise ConfigError(message)
    _check_positive("max_records_per_batch", given["max_records_per_batch"])
    if given["spark_partitions"] is not None:
        _check_positive("spark_partitions", given["spark_partitions"])
    for name in ("topics_dir", "state_dir", "local_dir"):
        if _ADDRESS.match(str(given[name])):
            message = (
                f"{name} is {str(given[name])!r}, an address; it must be a directory of a file system. On a cluster, "
                "mount one that all its machines share."
            )
            raise ConfigError(message)
    for name in ("default_key_serde", "default_value_serde"):
        if given[name] is not None and not hasattr(given[name], "deserialize"):
            message = f"{name} is {given[name]!r}; it must be a serde such as serdes.String() or serdes.Json()."
            raise ConfigError(message)


def _check_flags_and_mappings(given: Mapping[str, Any]) -> None:
    for name in _FLAGS:
        if not isinstance(given[name], bool):
            message = f"{name} is {given[name]!r}; it must be True or False."
            raise ConfigError(message)
    for name in _MAPPINGS:
        if not isinstance(given[name], Mapping):
            message = f"{name} is {given[name]!r}; it must be a dictionary of settings, such as {_MAPPINGS[name]}."
            raise ConfigError(message)


def _check_kafka(given: Mapping[str, Any]) -> None:
    servers, settings = given["bootstrap_servers"], given["kafka"]
    _check_choice("auto_offset_reset", given["auto_offset_reset"], _RESETS)
    if servers is not None and (not isinstance(servers, str) or not servers.strip()):
        message = f"bootstrap_servers is {servers!r}; it must be text like 'host:9092', several with commas between."
        raise ConfigError(message)
    if servers is not None and given["topics_dir"] is not None:
        message = (
            f"bootstrap_servers={servers!r} and topics_dir={str(given['topics_dir'])!r} exclude each other: topics are "
            "on Kafka, or embedded in a directory. Leave one of them out."
        )
        raise ConfigError(message)
    if not isinstance(given["task_timeout"], timedelta) or given["task_timeout"] < _ONE_REQUEST:
        message = (
            f"task_timeout is {given['task_timeout']!r}; it must be a timedelta of {_ONE_REQUEST.seconds} seconds or "
            "more: so long a single request to a broker may take."
        )
        raise ConfigError(message)
    if servers is None and (settings or given["auto_offset_reset"] != "earliest"):
        message = "kafka and auto_offset_reset are about topics on Kafka: set bootstrap_servers as well."
        raise ConfigError(message)
    for name in settings or {}:
        if name in _OWN_KAFKA_SETTINGS:
            message = f"kafka={{{name!r}: ...}} cannot be set there: {_OWN_KAFKA_SETTINGS[name]}."
            raise ConfigError(message)


def _check_choice(name: str, given: object, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        message = f"{name} is {given!r}; allowed: {', '.join(map(repr, allowed))}."
        raise ConfigError(message)


def _check_guard(given: Mapping[str, Any]) -> None:
    ahead, handler = given["max_timestamp_ahead"], given["timestamp_ahead_handler"]
    _check_optional_duration("max_timestamp_ahead", ahead)
    _check_choice("timestamp_ahead_handler", handler, ANSWERS)
    if ahead is None and handler != "fail":
        message = f"timestamp_ahead_handler is {handler!r}, but nothing is ever too far ahead: set max_timestamp_ahead."
        raise ConfigError(message)


def _check_error_handlers(given: Mapping[str, Any]) -> None:
    for name in _ERROR_HANDLERS:
        if not callable(given[name]) and given[name] not in ANSWERS:
            message = (
                f"{name} is {given[name]!r}; allowed: {', '.join(map(repr, ANSWERS))}, or a function that is given an "
                "ErrorHandlerContext and answers one of these."
            )
            raise ConfigError(message)
    topic, names = given["dead_letter_topic"], (*_ERROR_HANDLERS, "timestamp_ahead_handler")
    writing = [name for name in names if given[name] == "dead_letter"]
    if writing and (not isinstance(topic, str) or not topic):
        message = f"{writing[0]}='dead_letter' needs a topic to write to; dead_letter_topic is {topic!r}."
        raise ConfigError(message)
    if topic is not None and not writing and not any(callable(given[name]) for name in _ERROR_HANDLERS):
        message = (
            f"dead_letter_topic={topic!r}, but no handler writes to it: set one of {', '.join(names)} to 'dead_letter'."
        )
        raise ConfigError(message)


def _check_positive(name: str, given: object) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        message = f"{name} is {given!r}; it must be a whole number of 1 or more."
        raise ConfigError(message)


def _check_duration(name: str, given: object) -> None:
    if not isinstance(given, timedelta) or given < timedelta(0):
        message = f"{name} is {given!r}; it must be a timedelta of 0 or more."
        raise ConfigError(message)


def _check_optional_duration(name: str, given: object) -> None:
    if given is not None and (not isinstance(given, timedelta) or given < timedelta(milliseconds=1)):
        message = f"{name} is {given!r}; it must be None, or a timedelta of a millisecond or more."
        raise ConfigError(message)
