"""The order in which a task takes records: per topic as they came, across topics the smallest head timestamp first."""

from __future__ import annotations

from typing import Any

Step = list[Any]


def in_merge_order(steps: list[Step]) -> bool:
    """Whether a task that had all steps at once, or any stretch of them, would take them in just this order.

    True for every scenario with a single input topic, unless it moves the wall clock. Equal timestamps at two heads
    leave the order open: then it is False.
    """
    if any(step[0].startswith("@") for step in steps):
        return False
    queues = _queues(steps)
    for step in steps:
        others = [queue for topic, queue in queues.items() if topic != step[0]]
        if any(queue and queue[0][3] <= step[3] for queue in others):
            return False
        queues[step[0]].pop(0)
    return True


def merge_ordered(steps: list[Step]) -> list[Step]:
    """The same records in merge order; a head that ties with the one taken is moved one millisecond ahead."""
    queues = _queues([list(step) for step in steps])
    ordered = []
    while any(queues.values()):
        topic = min((topic for topic in queues if queues[topic]), key=lambda topic: queues[topic][0][3])
        taken = queues[topic].pop(0)
        for queue in queues.values():
            if queue and queue is not queues[topic] and queue[0][3] == taken[3]:
                queue[0][3] += 1
        ordered.append(taken)
    return ordered


def by_topic(steps: list[Step]) -> list[Step]:
    """The same records, one topic after the other."""
    return sorted(steps, key=lambda step: str(step[0]))


def _queues(steps: list[Step]) -> dict[str, list[Step]]:
    queues: dict[str, list[Step]] = {}
    for step in steps:
        queues.setdefault(step[0], []).append(step)
    return queues
