"""The order in which a task processes records: per topic by offset, across topics the smallest head timestamp first."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

Step = list[Any]


def in_merge_order(steps: list[Step], global_topics: Collection[str] = ()) -> bool:
    """Whether a task that had all steps at once, or any consecutive part of them, would process them in this order.

    True for every scenario with a single input topic, unless it advances the wall clock. Equal timestamps at two heads
    leave the order open: then it is False. Records of global topics are processed before all others.
    """
    if any(step[0].startswith("@") for step in steps):
        return False
    is_table = [step[0] in global_topics for step in steps]
    if is_table != sorted(is_table, reverse=True):
        return False
    steps = steps[sum(is_table) :]
    queues = _queues(steps)
    for step in steps:
        others = [queue for topic, queue in queues.items() if topic != step[0]]
        if any(queue and queue[0][3] <= step[3] for queue in others):
            return False
        queues[step[0]].pop(0)
    return True


def merge_ordered(steps: list[Step]) -> list[Step]:
    """The same records in merge order; a head with the timestamp of the chosen one is moved one millisecond ahead."""
    queues = _queues([list(step) for step in steps])
    ordered = []
    while any(queues.values()):
        topic = min((topic for topic in queues if queues[topic]), key=lambda topic: queues[topic][0][3])
        step = queues[topic].pop(0)
        for queue in queues.values():
            if queue and queue is not queues[topic] and queue[0][3] == step[3]:
                queue[0][3] += 1
        ordered.append(step)
    return ordered


def by_topic(steps: list[Step]) -> list[Step]:
    """The same records, one topic after the other."""
    return sorted(steps, key=lambda step: str(step[0]))


def _queues(steps: list[Step]) -> dict[str, list[Step]]:
    queues: dict[str, list[Step]] = {}
    for step in steps:
        queues.setdefault(step[0], []).append(step)
    return queues
