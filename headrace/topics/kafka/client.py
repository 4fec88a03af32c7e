"""The Kafka client, imported when it is first needed, and its errors: which are temporary, and what the others mean."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from headrace.errors import ConfigError, TopicError

ANSWER_WITHIN_S = 10.0

# No broker answers, or none that leads the partition.
_UNAVAILABLE = frozenset(
    {
        "_ALL_BROKERS_DOWN",
        "_MSG_TIMED_OUT",
        "_RESOLVE",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_TRANSPORT",
        "BROKER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "REQUEST_TIMED_OUT",
    }
)
# Brokers are starting, or leaders are moving.
_NOT_READY = frozenset(
    {
        "_NOENT",
        "_WAIT_COORD",
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "LEADER_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "UNKNOWN_LEADER_EPOCH",
    }
)
# Brokers learn of new topics one after the other; a topic that is still unknown after seconds does not exist.
_UNKNOWN = frozenset({"UNKNOWN_TOPIC_OR_PART"})
# Another producer has the transactional id, or Kafka aborted the transaction because it took too long: the errors are
# the same.
_TRANSACTION_LOST = frozenset({"_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "PRODUCER_FENCED"})
# The broker refuses the record itself, however often it is sent.
_REFUSALS = frozenset({"INVALID_MSG", "INVALID_RECORD", "INVALID_TIMESTAMP", "MSG_SIZE_TOO_LARGE"})


def client(part: str | None = None) -> ModuleType:
    """The module `confluent_kafka`, or its module `admin`, imported when it is first needed.

    Raises:
        ConfigError: if it is not installed.
    """
    try:
        import confluent_kafka
        from confluent_kafka import admin
    except ImportError as error:
        message = "Topics on Kafka need its Python client. Install it with: pip install 'headrace[kafka]'"
        raise ConfigError(message) from error
    module: ModuleType = admin if part == "admin" else confluent_kafka
    return module


def is_unavailable(error: Any) -> bool:
    """Whether no broker answered."""
    return error.name() in _UNAVAILABLE


def is_temporary(error: Any, waited_s: float) -> bool:
    """Whether a caller that has already waited for `waited_s` should retry after an error."""
    name = error.name()
    return name in _UNAVAILABLE | _NOT_READY | _TRANSACTION_LOST or (name in _UNKNOWN and waited_s < ANSWER_WITHIN_S)


def is_transaction_lost(error: Any) -> bool:
    """Whether the producer that began a transaction can no longer complete it."""
    return error.name() in _TRANSACTION_LOST


def is_refusal(error: Any) -> bool:
    """Whether a broker refuses a record, however often it is sent."""
    return error.name() in _REFUSALS


def explain(error: Any, servers: str, doing: str, within_s: float, why: str | None) -> Exception:
    """Converts an error of the client to an error of Headrace, which names the brokers and says what to do.

    `doing` is the operation, as in "could not list its topics". `within_s` is how long the caller waited. `why` is the
    last connection error, if there was one.
    """
    name = error.name()
    if name == "_INVALID_ARG":
        return ConfigError(
            f"The Kafka client refuses a setting: {error.str()}. Settings in kafka={{...}} have librdkafka's names, "
            "e.g. security.protocol, sasl.mechanism, sasl.username, ssl.ca.location."
        )
    if is_unavailable(error):
        return TopicError(
            f"No Kafka broker at {servers!r} answered within {within_s:.0f} s when asked to {doing} "
            f"({why or error.str()}). Is it running there, and does kafka={{...}} say how to reach it "
            "(security.protocol)?"
        )
    if name == "_AUTO_OFFSET_RESET":
        return TopicError(
            f"Kafka at {servers} could not {doing}: the next records to read no longer exist ({error.str()}). The "
            "topic's retention deleted them, or the topic was created again. Start from the beginning: with another "
            "application_id and state_dir, or after `headrace reset`."
        )
    return TopicError(f"Kafka at {servers} could not {doing}: {error.str()} ({name}).")
