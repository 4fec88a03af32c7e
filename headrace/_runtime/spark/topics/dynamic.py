"""Opens output topics that functions chose while records were processed."""

from __future__ import annotations

from headrace._core.errors.handlers import Stop
from headrace._core.operators.topics.routing import refused_topic
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.topics.backend import backend_of
from headrace.errors import ProcessingError, RoutingError, TopicError


def open_topic(plan: Plan, topic: str) -> int | None:
    """The number of partitions of a topic that a function chose; `None` if it is missing and may not be created.

    Raises:
        RoutingError: if the topic is reserved.
        Stop: if the topic cannot be opened for another reason. The record is not to blame, so no handler of production
            errors may drop it.
    """
    plan.reserved_topics.refuse(topic)
    named = plan.partitions.get(topic)
    if named is not None:
        return named
    try:
        return backend_of(plan).open_topic(plan, topic, plan.new_topic_partitions)
    except TopicError as error:
        message = f"Cannot open the output topic {topic!r}, which a function chose: {error}"
        raise Stop(ProcessingError(message)) from error


def missing_topic(topic: str) -> RoutingError:
    """The error for a topic that `open_topic` did not find."""
    why = (
        "which does not exist, and dynamic_topics='refuse' forbids to create it. Create the topic, or set "
        "dynamic_topics='create'."
    )
    return refused_topic(topic, why)
