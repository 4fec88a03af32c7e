"""The topics that functions may not choose for output."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from headrace._core.operators.topics.routing import refused_topic
from headrace.topics.kafka.commits import commits_topic

_OF_KAFKA = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")


class ReservedTopics(NamedTuple):
    """Topics for the application's or Kafka's own use: `internal` ones of the topology, and the dead letter topic.

    Topics that match one of the `patterns` are reserved, too: the application would read its own output.
    """

    application_id: str
    internal: Collection[str]
    dead_letter_topic: str | None
    patterns: Collection[re.Pattern[str]] = ()

    def refuse(self, topic: str) -> None:
        """Raises a `RoutingError` if the topic is reserved."""
        if topic in self.internal:
            raise refused_topic(topic, "an internal topic of this topology. Choose another name.")
        if topic == self.dead_letter_topic:
            raise refused_topic(topic, "the dead_letter_topic, which is for failed records only. Choose another name.")
        matching = next((pattern for pattern in self.patterns if pattern.fullmatch(topic)), None)
        if matching is not None:
            raise refused_topic(
                topic, f"a topic that this application reads by the pattern {matching.pattern!r}. Choose another name."
            )
        if topic in _OF_KAFKA or topic == commits_topic(self.application_id):
            raise refused_topic(topic, "a topic for internal use. Choose another name.")
