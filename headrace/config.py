"""Settings of an application: Kafka's names in snake_case, plus a few of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Self, overload

from headrace._config_rules import check, is_address, writes_two_events
from headrace._secrets import hide
from headrace._suggestions.attributes import SuggestingMeta
from headrace._suggestions.settings import setting_suggestion
from headrace.errors import ConfigError, known_names
from headrace.model.error_handlers import ErrorHandler
from headrace.model.offset_reset import AutoOffsetReset, OffsetReset, offset_reset_of
from headrace.model.processor import ProcessorWrapper
from headrace.model.time.timestamps import Extractor, fail_on_invalid_timestamp
from headrace.serdes import Serde

_TEXT_FLAGS = {"true": True, "false": False}


class _DirectorySetting:
    """A setting that accepts a directory as text or `Path`, and returns a `Path`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, config: None, owner: type) -> None: ...

    @overload
    def __get__(self, config: object, owner: type) -> Path | None: ...

    def __get__(self, config: object, owner: type) -> Path | None:
        return None if config is None else vars(config)[self._name]

    def __set__(self, config: object, directory: str | Path | None) -> None:
        # `check` rejects addresses such as s3a://bucket. Until then they stay text: a `Path` would drop a slash.
        vars(config)[self._name] = directory if directory is None or is_address(directory) else Path(directory)


class _StateDirectorySetting(_DirectorySetting):
    """A directory setting whose default depends on the application id."""

    @overload
    def __get__(self, config: None, owner: type) -> None: ...

    @overload
    def __get__(self, config: object, owner: type) -> Path: ...

    def __get__(self, config: object, owner: type) -> Path | None:
        if config is None:
            return None
        return super().__get__(config, owner) or Path("headrace-state") / str(vars(config)["application_id"])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StreamsConfig(metaclass=SuggestingMeta):
    """The settings of one application. They are immutable; `replace` returns a copy with some of them changed.

    Args:
        application_id: the name of the application, required: 1 to 200 letters, digits, ".", "_" or "-". State and
            committed offsets belong to this name.
        bootstrap_servers: brokers of the Kafka cluster with the topics, e.g. `"kafka-1:9092,kafka-2:9092"`. To run on
            Spark, set either this or `topics_dir`.
        kafka: how to connect to the brokers: settings of the Kafka client by librdkafka's names, e.g.
            `{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", ...}`.
        task_timeout: how long a running application waits for brokers that do not answer before it fails. Default: 5
            minutes.
        auto_offset_reset: where to begin in a topic that the application has not read before, unless its source has an
            `offset_reset`: "earliest", "latest", "none", or `AutoOffsetReset.by_duration(...)`. It does not apply
            to global tables: without an `offset_reset`, their topics are read from the beginning, as in Kafka Streams.
        topics_dir: directory of embedded topics, which need no broker.
        state_dir: directory of offsets and state; every application needs its own. Default:
            `headrace-state/<application_id>`.
        commit_interval: time between the starts of two micro-batches of a running application. Default: 0, each starts
            as soon as the one before is committed.
        max_records_per_batch: the most records that one micro-batch reads.
        statestore_cache_max_bytes: the size of the record cache of each task. With a cache, a table with a store
            forwards only the last update of each row in a micro-batch. Default: 0, it forwards every update.
        default_key_serde: serde of keys for operators that are given none. Default: `serdes.String()`.
        default_value_serde: serde of values for operators that are given none. Default: `serdes.Json()`.
        default_timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms` returns the event time of an input
            record, for sources without an extractor of their own. Default: the record's timestamp.
        app_configs: settings of your own, under any names; processors read them with `context.app_configs`.
        processor_wrapper: wraps the processing of every operator, e.g. for tracing: `(name, process) -> process`
            returns a function to call instead of `process(record)`. Records are then processed one by one.
        ensure_explicit_internal_resource_naming: whether a topology is rejected if a store or a repartition has a
            generated name. Such a name changes when operators are added or removed before it; its state is then lost.
        max_task_idle: must be 0. A micro-batch takes the records that exist when it is planned and merges all inputs by
            timestamp. It does not wait for records that have not arrived yet.
        allow_stream_time_key_tracking: whether every key has its own stream time, instead of one for all keys of a
            partition. Stream time decides which records are late, when windows close, and when stored windows expire.
        stream_time_key_idle: if no record of a key arrives for this much wall-clock time, its windows close, their
            final results are emitted, and the key starts over with its next record. Needs
            `allow_stream_time_key_tracking`. Default: never.
        max_timestamp_ahead: how far ahead of the wall clock the timestamp of an input record may be. A single timestamp
            in the far future closes every window. Default: no limit.
        timestamp_ahead_handler: what to do with a record that exceeds `max_timestamp_ahead`: "fail" stops the
            application, "continue" drops and counts the record, "dead_letter" also writes it to `dead_letter_topic`.
        deserialization_exception_handler: what to do with an input record that cannot be decoded or has a negative
            timestamp: "fail" stops the application, "continue" drops and counts the record, "dead_letter" also writes
            it to `dead_letter_topic`; or a function that takes an `ErrorHandlerContext` and returns one of these.
        processing_exception_handler: what to do if an operator fails on a record or in a punctuation; allowed are the
            same values as for `deserialization_exception_handler`.
        production_exception_handler: what to do with a result that cannot be encoded, or that its Kafka topic rejects;
            allowed are the same values again.
        dead_letter_topic: the topic to which handlers write failed input records unchanged. Headers describe the error
            and say which topic, partition and offset the record came from.
        dynamic_topics: what to do if a function given to `to()` returns a topic that does not exist: "create" creates
            it, with as many partitions as there are tasks that write to it; "refuse" makes it a production error.
        processing_guarantee: "exactly_once_v2" (or "exactly_once", another name for it), or "at_least_once", which
            writes to Kafka without transactions: if a micro-batch is repeated after a failure, its output is written
            again. Embedded topics are always exactly once.
        upgrade_from: the version of Kafka Streams that the application comes from. With a version up to "3.4", table
            aggregations process a change within a group as two events, as those versions did, and also emit the
            intermediate result. Default: one event.
        spark: settings for the Spark session and query.
        spark_partitions: how many Spark partitions run a micro-batch; 1 runs all tasks in one process. By default, the
            number follows the load on one machine: one for few records, up to the number of cores for a backlog. On a
            cluster, every task has its own. Results do not depend on the number, and every start may use another one.
        sync_state: whether a commit is flushed to disk before the next micro-batch begins, so that it survives a power
            loss. Without it, commits still survive when the process is killed.
        state_retention: how long state files are kept after newer ones have replaced them, for processes that still
            read them.
        local_dir: a fast local directory on every executor, for local copies of the state. Default: the temporary
            directory.

    Raises:
        ConfigError: if a setting is unknown (the message suggests the most similar one), or its value is not allowed.

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
    auto_offset_reset: OffsetReset = "earliest"
    topics_dir: _DirectorySetting = _DirectorySetting()
    state_dir: _StateDirectorySetting = _StateDirectorySetting()
    local_dir: _DirectorySetting = _DirectorySetting()
    commit_interval: timedelta = timedelta(0)
    max_records_per_batch: int = 1_000_000
    default_key_serde: Serde[Any] | None = None
    default_value_serde: Serde[Any] | None = None
    default_timestamp_extractor: Extractor = fail_on_invalid_timestamp
    app_configs: Mapping[str, Any] = field(default_factory=dict)
    processor_wrapper: ProcessorWrapper | None = None
    ensure_explicit_internal_resource_naming: bool = False
    max_task_idle: timedelta = timedelta(0)
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
    dynamic_topics: Literal["create", "refuse"] = "create"
    spark: Mapping[str, str] = field(default_factory=dict)
    spark_partitions: int | None = None
    sync_state: bool = True
    state_retention: timedelta = timedelta(minutes=2)

    def __new__(cls, **settings: Any) -> Self:
        known = [setting.name for setting in fields(cls)]
        for name in settings:
            if name not in known:
                advice = setting_suggestion(name, known)
                message = f"Unknown setting {name!r}.{advice} Known settings: {known_names(known)}."
                raise ConfigError(message)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check(self._values())
        vars(self)["kafka"] = dict(self.kafka)
        vars(self)["app_configs"] = dict(self.app_configs)
        vars(self)["spark"] = {str(name): str(value) for name, value in self.spark.items()}

    @property
    def offset_reset(self) -> AutoOffsetReset:
        """`auto_offset_reset` as an `AutoOffsetReset`, also if it was given as text."""
        return offset_reset_of(self.auto_offset_reset, "auto_offset_reset", ConfigError)

    @property
    def writes_old_change_events(self) -> bool:
        """Whether `upgrade_from` is a version that processed a change within a group of a table as two events."""
        return writes_two_events(self.upgrade_from)

    def replace(self, **changes: Any) -> StreamsConfig:
        """Returns a copy with some settings changed. Raises a `ConfigError` as the constructor does."""
        return StreamsConfig(**{**self._values(), **changes})

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> StreamsConfig:
        """Creates a configuration from settings with dots in their names, as in Kafka, e.g. `"application.id"`.

        Numbers and flags may be text. A duration is in milliseconds under a name with `.ms`: `"commit.interval.ms"`.
        """
        types = {setting.name: str(setting.type) for setting in fields(cls)}
        converted: dict[str, Any] = {}
        for dotted, value in settings.items():
            name = dotted.replace(".", "_")
            if name.endswith("_ms") and "timedelta" in types.get(name.removesuffix("_ms"), ""):
                name, value = name.removesuffix("_ms"), _milliseconds(dotted, value)
            elif types.get(name) == "bool" and isinstance(value, str):
                value = _TEXT_FLAGS.get(value.lower(), value)
            elif types.get(name, "").startswith("int") and isinstance(value, str) and value.isdecimal():
                value = int(value)
            converted[name] = value
        return cls(**converted)

    def _values(self) -> dict[str, Any]:
        """Returns all settings as given: `state_dir` is `None` where its default, which depends on the id, applies."""
        return {setting.name: vars(self)[setting.name] for setting in fields(self)}

    def __repr__(self) -> str:
        shown = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        shown |= {"kafka": hide(self.kafka), "spark": hide(self.spark), "app_configs": hide(self.app_configs)}
        return f"StreamsConfig({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _milliseconds(name: str, value: Any) -> timedelta:
    try:
        return timedelta(milliseconds=float(value))
    except (TypeError, ValueError, OverflowError):
        message = f"{name} is {value!r}; it must be a number of milliseconds."
        raise ConfigError(message) from None
