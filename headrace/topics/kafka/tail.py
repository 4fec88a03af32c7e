"""The newest records of topic-partitions, as they arrive: a broker answers the moment it has one.

Asking for end offsets and then for records takes several round trips. One that waits at the end has them in one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headrace.topics.kafka.client import client, passes
from headrace.topics.kafka.cluster import KafkaCluster, Place, find_leaders
from headrace.topics.kafka.fetch import as_batch

_SETTINGS = {"fetch.wait.max.ms": 500, "fetch.min.bytes": 1, "queued.min.messages": 1_000}
_AT_A_TIME = 500
_MOST = 5_000


class Tail:
    """Waits at the end of topic-partitions and holds what has arrived, until it is read or there is too much of it."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._consumer: Any = None
        self._positions: dict[Place, int] = {}
        self._held: dict[Place, list[Any]] = {}

    @property
    def is_waiting(self) -> bool:
        return bool(self._positions)

    def stands_at(self, starts: Mapping[Place, int]) -> bool:
        """Whether it holds what comes after these offsets."""
        return self._positions.keys() == starts.keys() and all(
            (held[0].offset() >= starts[place] if (held := self._held.get(place)) else self._positions[place] == first)
            for place, first in starts.items()
        )

    def move(self, starts: Mapping[Place, int]) -> None:
        """Waits for records at these offsets and later from now on."""
        if self._consumer is None:
            self._consumer = self._cluster.consumer(**_SETTINGS)
            find_leaders(self._consumer, {topic for topic, _ in starts})
        self._positions, self._held = dict(starts), {}
        with self._cluster.telling("read what is new"):
            self._consumer.assign([client().TopicPartition(*place, first) for place, first in starts.items()])

    def rest(self) -> None:
        """Fetches nothing until it is moved again."""
        if self._positions:
            self._positions, self._held = {}, {}
            self._consumer.unassign()

    def poll(self, within_s: float) -> bool:
        """Takes in what arrives within a time; returns with the first of it. False: there is too much to hold."""
        until_s = time.monotonic() + within_s
        while True:
            # Asked for several, the client waits for as many; asked for one, it answers with the first.
            arrived = self._consumer.consume(1, max(0.0, until_s - time.monotonic()))
            if arrived:
                arrived += self._consumer.consume(_AT_A_TIME, 0.0)
            for message in arrived:
                if self._take(message):
                    until_s = 0.0
            if sum(map(len, self._held.values())) > _MOST:
                return False
            if not arrived or (until_s == 0.0 and len(arrived) <= _AT_A_TIME):
                return True

    def ends(self, places: Sequence[Place]) -> list[int]:
        """The offsets behind the last records that have arrived."""
        return [self._positions[place] for place in places]

    def take(self, place: Place, first: int, last: int) -> list[pa.RecordBatch] | None:
        """The records of a range, if all of them are held; they and those before are then held no longer."""
        held = self._held.get(place)
        if not held or held[0].offset() < first or self._positions[place] < last:
            return None
        wanted = [message for message in held if message.offset() < last]
        self._held[place] = held[len(wanted) :]
        return [as_batch(wanted)]

    def _take(self, message: Any) -> bool:
        error = message.error()
        if error is None:
            place = (message.topic(), message.partition())
            self._held.setdefault(place, []).append(message)
            self._positions[place] = message.offset() + 1
            return True
        if error.code() != client().KafkaError._PARTITION_EOF and not passes(error, waited_s=0.0):
            raise client().KafkaException(error)
        return False
