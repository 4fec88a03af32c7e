"""How long a topic keeps its records, in Kafka's terms."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, TypeAlias, get_args

import msgspec

from headrace.errors import TopicError

CleanupPolicy: TypeAlias = Literal["delete", "compact", "compact,delete"]
_POLICIES = get_args(CleanupPolicy)


class TopicPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which records of a topic may be deleted: Kafka's `retention.ms`, `retention.bytes` and `cleanup.policy`.

    With `None`, a topic on Kafka has the broker's default, and an embedded topic keeps everything.
    """

    retention_ms: int | None = None
    retention_bytes: int | None = None
    cleanup_policy: str | None = None

    @property
    def compacts(self) -> bool:
        """Whether only the last record of each key must be kept."""
        return self.cleanup_policy is not None and self.cleanup_policy.startswith("compact")

    def describe(self) -> str:
        """The settings, with Kafka's names, in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.kafka_settings().items()) or "unlimited retention"

    def kafka_settings(self) -> dict[str, str]:
        """The settings of a topic on Kafka."""
        given = msgspec.to_builtins(self)
        return {name.replace("_", "."): str(value) for name, value in given.items()}


UNLIMITED = TopicPolicy()


def policy_of(
    topic: str, retention: timedelta | None, retention_bytes: int | None, cleanup_policy: str | None
) -> TopicPolicy:
    """Creates a policy after checking its values.

    Raises:
        TopicError: if a value is not allowed.
    """
    if retention is not None and (not isinstance(retention, timedelta) or retention < timedelta(milliseconds=1)):
        message = f"Topic {topic!r}: retention must be a timedelta of at least 1 ms; got {retention!r}."
        raise TopicError(message)
    if retention_bytes is not None and (
        not isinstance(retention_bytes, int) or isinstance(retention_bytes, bool) or retention_bytes < 1
    ):
        message = f"Topic {topic!r}: retention_bytes must be an integer of 1 or more; got {retention_bytes!r}."
        raise TopicError(message)
    if cleanup_policy is not None and cleanup_policy not in _POLICIES:
        message = f"Topic {topic!r}: cleanup_policy must be one of {', '.join(_POLICIES)}; got {cleanup_policy!r}."
        raise TopicError(message)
    if cleanup_policy == "compact" and (retention is not None or retention_bytes is not None):
        message = (
            f"Topic {topic!r}: with cleanup_policy='compact', retention and retention_bytes have no effect. Use "
            "'compact,delete', or leave them out."
        )
        raise TopicError(message)
    retention_ms = None if retention is None else retention // timedelta(milliseconds=1)
    return TopicPolicy(retention_ms, retention_bytes, cleanup_policy)
