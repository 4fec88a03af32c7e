"""The Kafka client: imported when it is first needed; which of its errors pass by waiting, and what the others mean."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from headrace.errors import ConfigError, TopicError

ANSWER_WITHIN_S = 10.0

# Nobody answers: no broker, or none that leads what was asked for.
_AWAY = frozenset(
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
# Brokers start and leaders move.
_SETTLING = frozenset(
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
# Brokers learn of new topics one after the other; a topic that is still not known after seconds does not exist.
_UNKNOWN = frozenset({"UNKNOWN_TOPIC_OR_PART"})
# The transaction is another's, or Kafka ended it because it took too long: Kafka says the same of both.
_LOST = frozenset({"_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "PRODUCER_FENCED"})
# What is said about a record, and not about the way to the broker.
_REFUSALS = frozenset({"INVALID_MSG", "INVALID_RECORD", "INVALID_TIMESTAMP", "MSG_SIZE_TOO_LARGE"})


def client(part: str | None = None) -> ModuleType:
    """The Kafka client, imported when it is first needed.

    Raises:
        ConfigError: if it is not installed.
    """
    try:
        import confluent_kafka
        from confluent_kafka import admin
    except ImportError as error:
        message = "Topics on Kafka need its Python client. Install it with: pip install 'headrace[kafka]'"
        raise ConfigError(message) from error
    found: ModuleType = admin if part == "admin" else confluent_kafka
    return found


def away(error: Any) -> bool:
    """Whether nobody answered."""
    return error.name() in _AWAY


def passes(error: Any, waited_s: float) -> bool:
    """Whether an error is one that goes away by itself, for one who has waited so long."""
    name = error.name()
    return name in _AWAY | _SETTLING | _LOST or (name in _UNKNOWN and waited_s < ANSWER_WITHIN_S)


def lost(error: Any) -> bool:
    """Whether a transaction can no longer be completed by the producer that began it."""
    return error.name() in _LOST


def refuses(error: Any) -> bool:
    """Whether a broker does not take a record, however often it is sent."""
    return error.name() in _REFUSALS


def explained(error: Any, servers: str, doing: str, within_s: float, why: str | None) -> Exception:
    """An error of the client as one of ours, which says who was asked for what, and what to do."""
    name = error.name()
    if name == "_INVALID_ARG":
        return ConfigError(
            f"The Kafka client does not take a setting: {error.str()}. Settings in kafka={{...}} have the names of "
            "librdkafka, e.g. security.protocol, sasl.mechanism, sasl.username, ssl.ca.location."
        )
    if away(error):
        return TopicError(
            f"No Kafka broker at {servers!r} answered within {within_s:.0f} s when asked to {doing} "
            f"({why or error.str()}). Is it running there, and does kafka={{...}} say how to reach it "
            "(security.protocol)?"
        )
    if name == "_AUTO_OFFSET_RESET":
        return TopicError(
            f"Kafka at {servers} could not {doing}: records that were to be read are gone ({error.str()}). They were "
            "deleted by the topic's retention, or the topic was made anew. Start anew: with another application_id and "
            "state_dir, or after `headrace reset`."
        )
    return TopicError(f"Kafka at {servers} could not {doing}: {error.str()} ({name}).")
