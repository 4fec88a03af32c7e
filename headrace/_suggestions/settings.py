"""Settings of Kafka Streams that have another name or no meaning in Headrace, and what to set instead."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from headrace._suggestions.attributes import suggestion

_CLIENT: Final = "It is a setting of the Kafka client: kafka={{{0!r}: ...}}, by librdkafka's names."
_SPARK_TASKS: Final = "It has no meaning here: Spark assigns tasks to its cores and executors."
_NO_CHANGELOG: Final = "It has no meaning here: there are no changelog or repartition topics on Kafka."
_ONE_ENGINE: Final = "It has no meaning here: there is one kind of state store."
_METRICS: Final = "It has no meaning here: app.metrics() returns the counters, and Spark reports its own."

SETTINGS: Final[dict[str, str]] = {
    "errors_dead_letter_queue_topic_name": "Use 'dead_letter_topic'.",
    "default_deserialization_exception_handler": "Use 'deserialization_exception_handler'.",
    "default_production_exception_handler": "Use 'production_exception_handler'.",
    "processing_exception_handler_global_enabled": "It is always on for global tables.",
    "cache_max_bytes_buffering": "Use 'statestore_cache_max_bytes'.",
    "buffered_records_per_partition": "Use 'max_records_per_batch'.",
    "max_poll_records": "Use 'max_records_per_batch'.",
    "poll_ms": "Use 'commit_interval', the time between two micro-batches.",
    "trigger": "Use 'commit_interval'.",
    "checkpoint_location": "Use 'state_dir'.",
    "checkpoint_dir": "Use 'state_dir'.",
    "group_id": "Use 'application_id'.",
    "app_id": "Use 'application_id'.",
    "brokers": "Use 'bootstrap_servers'.",
    "broker_address": "Use 'bootstrap_servers'.",
    "timestamp_extractor": "Use 'default_timestamp_extractor'.",
    "key_serde": "Use 'default_key_serde'.",
    "value_serde": "Use 'default_value_serde'.",
    "retries": "Use 'task_timeout'.",
    "default_dsl_store": _ONE_ENGINE,
    "dsl_store_suppliers_class": _ONE_ENGINE,
    "rocksdb_config_setter": _ONE_ENGINE,
    "dsl_store_format": _ONE_ENGINE,
    "topology_optimization": "It has no meaning here: a grouping with a name= shares its repartition.",
    "window_size_ms": "Give the serde the size: serdes.WindowedKey(inner, timedelta(...)).",
    "windowed_inner_class_serde": "Give the serde the inner one: serdes.WindowedKey(inner, timedelta(...)).",
    "config_providers": "Read secrets in Python, e.g. from os.environ.",
    "default_client_supplier": "The client is confluent-kafka; its settings are kafka={...}.",
    "application_server": "It has no meaning here: app.store(name) reads all partitions.",
    **dict.fromkeys(
        (
            *("num_stream_threads", "num_standby_replicas", "acceptable_recovery_lag", "max_warmup_replicas"),
            *("probing_rebalance_interval_ms", "task_assignor_class", "group_protocol", "rack_aware_assignment_tags"),
            *("rack_aware_assignment_strategy", "rack_aware_assignment_traffic_cost"),
            "rack_aware_assignment_non_overlap_cost",
        ),
        _SPARK_TASKS,
    ),
    **dict.fromkeys(
        ("replication_factor", "repartition_purge_interval_ms", "windowstore_changelog_additional_retention_ms"),
        _NO_CHANGELOG,
    ),
    **dict.fromkeys(
        ("state_cleanup_delay_ms", "state_cleanup_dir_max_age_ms"),
        "Use 'state_retention', how long superseded state stays.",
    ),
    "allow_os_group_write_access": "Files get the modes of the process's umask.",
    **dict.fromkeys(
        (
            *("built_in_metrics_version", "metrics_num_samples", "metrics_sample_window_ms", "enable_metrics_push"),
            *("metrics_recording_level", "metric_reporters", "log_summary_interval_ms"),
        ),
        _METRICS,
    ),
}

_CLIENT_SETTINGS: Final = frozenset(
    {
        *("security_protocol", "client_id", "request_timeout_ms", "retry_backoff_ms", "retry_backoff_max_ms"),
        *("reconnect_backoff_ms", "reconnect_backoff_max_ms", "connections_max_idle_ms", "metadata_max_age_ms"),
        *("receive_buffer_bytes", "send_buffer_bytes", "sasl_mechanism", "sasl_jaas_config", "acks", "linger_ms"),
        *("compression_type", "fetch_min_bytes", "session_timeout_ms", "max_poll_interval_ms", "sasl_username"),
        *("sasl_password", "ssl_truststore_location", "ssl_keystore_location", "ssl_ca_location"),
    }
)
_PREFIX: Final = re.compile(r"(main_consumer|restore_consumer|global_consumer|consumer|producer|admin|topic)_(.+)")


def setting_suggestion(name: str, known: Collection[str]) -> str:
    """A sentence, with a space before it, that says what to set instead of an unknown setting; empty if unclear."""
    snake = name.replace(".", "_")
    if snake.startswith(("rack_aware_assignment_", "client_tag_")):
        return f" {_SPARK_TASKS}"
    prefixed = _PREFIX.fullmatch(snake)
    if prefixed and prefixed[1] == "topic":
        return f" {_NO_CHANGELOG}"
    if prefixed or snake in _CLIENT_SETTINGS:
        return f" {_CLIENT.format((prefixed[2] if prefixed else snake).replace('_', '.'))}"
    if snake.endswith("_ms") and snake.removesuffix("_ms") in known:
        return f" Did you mean {snake.removesuffix('_ms')!r}, a timedelta?"
    return suggestion(snake, known, SETTINGS)
