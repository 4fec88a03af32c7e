"""Settings of an application: Kafka's names in snake_case, plus a few of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from headrace.errors import ConfigError, known_names, nearest
from headrace.model.error_handlers import ANSWERS, ErrorHandler
from headrace.model.timestamps import Extractor, fail_on_invalid_timestamp
from headrace.serdes import Serde

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
_SECRETS = re.compile("password|secret|jaas|pem|oauthbearer.config")

_AHEAD_HANDLERS = ("fail", "skip", "dead_letter")
_ERROR_HANDLERS = ("deserialization_exception_handler", "processing_exception_handler", "production_exception_handler")

# Up to here Kafka Streams told a change within a group of a table as two events.
_TWO_EVENTS = (
    *("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1"),
    *(f"2.{minor}" for minor in range(9)),
    *(f"3.{minor}" for minor in range(5)),
)
_VERSIONS = (*_TWO_EVENTS, "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3")

_NUMBERS = ("max_records_per_batch", "statestore_cache_max_bytes", "spark_partitions")
_FLAGS = ("allow_stream_time_key_tracking", "sync_state")
_DURATIONS = ("commit_interval", "task_timeout", "max_timestamp_ahead", "stream_time_key_idle", "state_retention")


class StreamsConfig:
    """The settings of one application; immutable.

    Args:
        application_id: names the application; its state belongs to it.
        bootstrap_servers: Kafka brokers that have the topics, e.g. `"kafka-1:9092,kafka-2:9092"`.
        kafka: how to reach them: settings of the Kafka client by librdkafka's names, e.g.
            `{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", ...}`.
        task_timeout: how long a running application waits for brokers that do not answer before it fails; default 5
            minutes.
        auto_offset_reset: where to begin to read a topic of Kafka that the application has not read before: "earliest"
            or "latest", which is where it ends as the application first starts.
        topics_dir: directory of the embedded topics; they need no broker.
        state_dir: where offsets and state live, one per application; default `headrace-state/<application_id>`.
        commit_interval: time between the starts of two micro-batches while running on; 0 runs them back to back.
        max_records_per_batch: upper bound of records admitted to one micro-batch.
        default_key_serde: serde of keys where an operator names none; without it `serdes.String()`.
        default_value_serde: serde of values where an operator names none; without it `serdes.Json()`.
        default_timestamp_extractor: where event time comes from; by default the record's own timestamp.
        allow_stream_time_key_tracking: judge by the highest timestamp seen of each key, instead of all keys, which
            records are late, which windows are closed and what window stores still keep.
        stream_time_key_idle: after so much wall-clock time without a record of a key, its windows close, their final
            results are written, and the key begins anew with its next record; only with
            `allow_stream_time_key_tracking`. Default: never.
        max_timestamp_ahead: how far ahead of the wall clock the timestamp of an input record may be; one in the far
            future closes every window. Default: no limit.
        timestamp_ahead_handler: what becomes of a record beyond that: "fail" stops the application, "skip" drops and
            counts it, "dead_letter" also writes it to `dead_letter_topic`.
        deserialization_exception_handler: what becomes of an input record that cannot be decoded, or has a negative
            timestamp: "fail" stops the application, "continue" drops and counts it, "dead_letter" also writes it to
            `dead_letter_topic`; or a function that is given an `ErrorHandlerContext` and answers one of these.
        processing_exception_handler: the same for a record on which an operator fails, and for punctuations.
        production_exception_handler: the same for a result that cannot be encoded, or that its topic on Kafka does not
            take.
        dead_letter_topic: where handlers write records as they were read, with headers that say why and where from.
        processing_guarantee: "exactly_once_v2", or "at_least_once": then output to Kafka is written without
            transactions, and again when a micro-batch is repeated after a failure. Embedded topics are always exact.
        upgrade_from: a version of Kafka Streams up to "3.4" has table aggregations take a change within a group as two
            events, with the result in between visible, as those versions did; default: one event.
        spark: settings for the Spark session and query.
        spark_partitions: how many Spark partitions run a micro-batch; 1 runs all tasks in one process. By default it
            follows the load on one machine, between one for a trickle and all cores for a backlog; on a cluster every
            task has one. Results do not depend on it, and it may change at every start.
        sync_state: whether every commit is on disk before the next batch begins, so that a power loss takes nothing
            back. Without it a killed process still loses nothing.
        state_retention: how long files of superseded state are kept for readers that are under way.
        local_dir: fast local directory on every executor for replicas of the state; default: the temporary directory.

    Raises:
        ConfigError: for an unknown setting (with the nearest known one), or a value that is not allowed.

    Example:
        >>> StreamsConfig(application_id="clicks").state_dir.as_posix()
        'headrace-state/clicks'
        >>> StreamsConfig.from_mapping({"application.id": "clicks", "max.records.per.batch": 10}).max_records_per_batch
        10
    """

    def __init__(
        self,
        *,
        application_id: str = "",
        bootstrap_servers: str | None = None,
        kafka: Mapping[str, Any] | None = None,
        task_timeout: timedelta = timedelta(minutes=5),
        auto_offset_reset: str = "earliest",
        topics_dir: str | Path | None = None,
        state_dir: str | Path | None = None,
        local_dir: str | Path | None = None,
        commit_interval: timedelta = timedelta(0),
        max_records_per_batch: int = 1_000_000,
        default_key_serde: Serde[Any] | None = None,
        default_value_serde: Serde[Any] | None = None,
        default_timestamp_extractor: Extractor = fail_on_invalid_timestamp,
        upgrade_from: str | None = None,
        allow_stream_time_key_tracking: bool = False,
        stream_time_key_idle: timedelta | None = None,
        max_timestamp_ahead: timedelta | None = None,
        timestamp_ahead_handler: str = "fail",
        statestore_cache_max_bytes: int = 0,
        processing_guarantee: str = "exactly_once_v2",
        deserialization_exception_handler: ErrorHandler = "fail",
        processing_exception_handler: ErrorHandler = "fail",
        production_exception_handler: ErrorHandler = "fail",
        dead_letter_topic: str | None = None,
        spark: Mapping[str, str] | None = None,
        spark_partitions: int | None = None,
        sync_state: bool = True,
        state_retention: timedelta = timedelta(minutes=2),
        **unknown: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "unknown")}
        for name in unknown:
            message = f"Unknown setting {name!r}.{nearest(name, given)} Known settings: {known_names(given)}."
            raise ConfigError(message)
        _check(given)
        given["topics_dir"] = Path(topics_dir) if topics_dir is not None else None
        given["state_dir"] = Path(state_dir) if state_dir is not None else Path("headrace-state") / application_id
        given["local_dir"] = Path(local_dir) if local_dir is not None else None
        given["kafka"] = dict(kafka or {})
        given["spark"] = {str(key): str(value) for key, value in (spark or {}).items()}
        vars(self).update(given)

    application_id: str
    bootstrap_servers: str | None
    kafka: dict[str, Any]
    task_timeout: timedelta
    auto_offset_reset: str
    topics_dir: Path | None
    state_dir: Path
    local_dir: Path | None
    commit_interval: timedelta
    max_records_per_batch: int
    default_key_serde: Serde[Any] | None
    default_value_serde: Serde[Any] | None
    default_timestamp_extractor: Extractor
    upgrade_from: str | None
    allow_stream_time_key_tracking: bool
    stream_time_key_idle: timedelta | None
    max_timestamp_ahead: timedelta | None
    timestamp_ahead_handler: str
    deserialization_exception_handler: ErrorHandler
    processing_exception_handler: ErrorHandler
    production_exception_handler: ErrorHandler
    dead_letter_topic: str | None
    processing_guarantee: str
    spark: dict[str, str]
    spark_partitions: int | None
    sync_state: bool
    state_retention: timedelta

    @property
    def writes_old_change_events(self) -> bool:
        """Whether `upgrade_from` asks for change events that Kafka Streams up to 3.4 understands."""
        return self.upgrade_from in _TWO_EVENTS

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> StreamsConfig:
        """The same from Kafka's dotted names, e.g. `{"application.id": "clicks"}`; numbers may be text."""
        converted: dict[str, Any] = {}
        for dotted, value in settings.items():
            name = dotted.replace(".", "_")
            if name.removesuffix("_ms") in _DURATIONS and name.endswith("_ms"):
                name, value = name.removesuffix("_ms"), timedelta(milliseconds=float(value))
            elif name in _FLAGS and isinstance(value, str) and value.lower() in ("true", "false"):
                value = value.lower() == "true"
            elif name in _NUMBERS and isinstance(value, str) and value.isdecimal():
                value = int(value)
            converted[name] = value
        return cls(**converted)

    def __setattr__(self, name: str, value: object) -> None:
        message = f"StreamsConfig is immutable; make a new one with {name}={value!r}."
        raise ConfigError(message)

    def __repr__(self) -> str:
        hidden = {name: "..." if _SECRETS.search(name) else value for name, value in self.kafka.items()}
        shown = vars(self) | {"kafka": hidden}
        return f"StreamsConfig({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _check(given: Mapping[str, Any]) -> None:
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
    _check_choice("timestamp_ahead_handler", handler, _AHEAD_HANDLERS)
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
    if not isinstance(given, int) or given < 1:
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
