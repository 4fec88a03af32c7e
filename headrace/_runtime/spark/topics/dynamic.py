"""Opens output topics that functions chose while records were processed."""

from __future__ import annotations

from headrace._core.errors.handlers import Stop
from headrace._core.operators.topics.routing import refused_topic
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.topics.backend import backend_of
from headrace.errors import ProcessingError, TopicError


def open_topic(plan: Plan, topic: str) -> int:
    """The number of partitions of a topic that a function chose; a missing topic is created if the plan allows it.

    Raises:
        RoutingError: if the application may not write to the topic, or it does not exist and is not to be created.
    """
    plan.reserved_topics.refuse(topic)
    named = plan.partitions.get(topic)
    if named is not None:
        return named
    try:
        count = backend_of(plan).open_topic(plan, topic, plan.new_topic_partitions)
    except TopicError as error:
        # The record is not to blame, so no handler of production errors may drop it.
        message = f"Cannot open the output topic {topic!r}, which a function chose: {error}"
        raise Stop(ProcessingError(message)) from error
    if count is None:
        why = (
            "which does not exist, and dynamic_topics='refuse' forbids to create it. Create the topic, or set "
            "dynamic_topics='create'."
        )
        raise refused_topic(topic, why)
    return count
