"""Settings of an application: Kafka's names in snake_case, plus a few of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Self, overload

from headrace._settings import check, writes_two_events
from headrace.errors import ConfigError, known_names, nearest
from headrace.model.error_handlers import ErrorHandler
from headrace.model.timestamps import Extractor, fail_on_invalid_timestamp
from headrace.serdes import Serde

_SECRETS = re.compile("password|secret|jaas|pem|oauthbearer.config")
_TEXT_FLAGS = {"true": True, "false": False}


class _DirectorySetting:
    """A setting that takes a path as text, too, and gives it as a `Path`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, config: None, owner: type) -> None: ...

    @overload
    def __get__(self, config: object, owner: type) -> Path | None: ...

    def __get__(self, config: object, owner: type) -> Path | None:
        return None if config is None else vars(config)[self._name]

    def __set__(self, config: object, given: str | Path | None) -> None:
        vars(config)[self._name] = None if given is None else Path(given)


class _StateDirectorySetting(_DirectorySetting):
    """The same, with a default that depends on the application."""

    @overload
    def __get__(self, config: None, owner: type) -> None: ...

    @overload
    def __get__(self, config: object, owner: type) -> Path: ...

    def __get__(self, config: object, owner: type) -> Path | None:
        if config is None:
            return None
        return super().__get__(config, owner) or Path("headrace-state") / str(vars(config)["application_id"])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StreamsConfig:
    """The settings of one application; immutable. `replace` makes a copy with some of them changed.

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
        timestamp_ahead_handler: what becomes of a record beyond that: "fail" stops the application, "continue" drops
            and counts it, "dead_letter" also writes it to `dead_letter_topic`.
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
        >>> StreamsConfig(application_id="clicks").replace(max_records_per_batch=10).max_records_per_batch
        10
        >>> StreamsConfig.from_mapping({"application.id": "clicks", "max.records.per.batch": 10}).max_records_per_batch
        10
    """

    application_id: str = ""
    bootstrap_servers: str | None = None
    kafka: Mapping[str, Any] = field(default_factory=dict)
    task_timeout: timedelta = timedelta(minutes=5)
    auto_offset_reset: Literal["earliest", "latest"] = "earliest"
    topics_dir: _DirectorySetting = _DirectorySetting()
    state_dir: _StateDirectorySetting = _StateDirectorySetting()
    local_dir: _DirectorySetting = _DirectorySetting()
    commit_interval: timedelta = timedelta(0)
    max_records_per_batch: int = 1_000_000
    default_key_serde: Serde[Any] | None = None
    default_value_serde: Serde[Any] | None = None
    default_timestamp_extractor: Extractor = fail_on_invalid_timestamp
    upgrade_from: str | None = None
    allow_stream_time_key_tracking: bool = False
    stream_time_key_idle: timedelta | None = None
    max_timestamp_ahead: timedelta | None = None
    timestamp_ahead_handler: Literal["fail", "continue", "dead_letter"] = "fail"
    statestore_cache_max_bytes: int = 0
    processing_guarantee: Literal["exactly_once_v2", "exactly_once", "at_least_once"] = "exactly_once_v2"
    deserialization_exception_handler: ErrorHandler = "fail"
    processing_exception_handler: ErrorHandler = "fail"
    production_exception_handler: ErrorHandler = "fail"
    dead_letter_topic: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    spark_partitions: int | None = None
    sync_state: bool = True
    state_retention: timedelta = timedelta(minutes=2)

    def __new__(cls, **given: Any) -> Self:
        known = [setting.name for setting in fields(cls)]
        for name in given:
            if name not in known:
                message = f"Unknown setting {name!r}.{nearest(name, known)} Known settings: {known_names(known)}."
                raise ConfigError(message)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check(self._given())
        vars(self)["kafka"] = dict(self.kafka)
        vars(self)["spark"] = {str(name): str(value) for name, value in self.spark.items()}

    @property
    def writes_old_change_events(self) -> bool:
        """Whether `upgrade_from` asks for change events that Kafka Streams up to 3.4 understands."""
        return writes_two_events(self.upgrade_from)

    def replace(self, **changes: Any) -> StreamsConfig:
        """A copy with some settings changed."""
        return StreamsConfig(**{**self._given(), **changes})

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> StreamsConfig:
        """The same from Kafka's dotted names, e.g. `{"application.id": "clicks"}`; numbers and flags may be text."""
        types = {setting.name: str(setting.type) for setting in fields(cls)}
        converted: dict[str, Any] = {}
        for dotted, value in settings.items():
            name = dotted.replace(".", "_")
            if name.endswith("_ms") and "timedelta" in types.get(name.removesuffix("_ms"), ""):
                name, value = name.removesuffix("_ms"), timedelta(milliseconds=float(value))
            elif types.get(name) == "bool" and isinstance(value, str):
                value = _TEXT_FLAGS.get(value.lower(), value)
            elif types.get(name, "").startswith("int") and isinstance(value, str) and value.isdecimal():
                value = int(value)
            converted[name] = value
        return cls(**converted)

    def _given(self) -> dict[str, Any]:
        """All settings as they were given, defaults included."""
        return {setting.name: vars(self)[setting.name] for setting in fields(self)}

    def __repr__(self) -> str:
        hidden = {name: "..." if _SECRETS.search(name) else value for name, value in self.kafka.items()}
        shown = {setting.name: getattr(self, setting.name) for setting in fields(self)} | {"kafka": hidden}
        return f"StreamsConfig({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
