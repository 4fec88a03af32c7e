"""Waits at the end of topic-partitions for new records.

Requesting end offsets and then records takes several round trips. A consumer that waits at the end needs only one,
because the broker responds as soon as it has a record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headrace.topics.kafka.client import client, is_temporary
from headrace.topics.kafka.cluster import KafkaCluster, Place, find_leaders
from headrace.topics.kafka.fetch import to_batch

_SETTINGS = {"fetch.wait.max.ms": 500, "fetch.min.bytes": 1, "queued.min.messages": 1_000}
_AT_A_TIME = 500
_MAX_BUFFERED = 5_000


class Tail:
    """Buffers the newest records of topic-partitions until they are read or there are too many."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._consumer: Any = None
        self._positions: dict[Place, int] = {}
        self._buffered: dict[Place, list[Any]] = {}

    @property
    def is_waiting(self) -> bool:
        return bool(self._positions)

    def is_at(self, starts: Mapping[Place, int]) -> bool:
        """Whether it waits at exactly these topic-partitions, and its next records are those from these offsets on."""
        return self._positions.keys() == starts.keys() and all(
            (
                buffered[0].offset() >= first
                if (buffered := self._buffered.get(place))
                else self._positions[place] == first
            )
            for place, first in starts.items()
        )

    def move(self, starts: Mapping[Place, int]) -> None:
        """Drops the buffered records, and begins to fetch records from these offsets on."""
        if self._consumer is None:
            self._consumer = self._cluster.consumer(**_SETTINGS)
            find_leaders(self._consumer, {topic for topic, _ in starts})
        self._positions, self._buffered = dict(starts), {}
        with self._cluster.translate_errors("read new records"):
            self._consumer.assign([client().TopicPartition(*place, first) for place, first in starts.items()])

    def pause(self) -> None:
        """Drops the buffered records, and stops fetching until the next `move`."""
        if self._positions:
            self._positions, self._buffered = {}, {}
            self._consumer.unassign()

    def poll(self, within_s: float) -> bool:
        """Waits for records, at most `within_s`, and buffers them; returns False if there are too many to buffer."""
        until_s = time.monotonic() + within_s
        while True:
            # `consume(n)` waits until it has n messages, so ask for one, and then for those that are already there.
            arrived = self._consumer.consume(1, max(0.0, until_s - time.monotonic()))
            if arrived:
                arrived += self._consumer.consume(_AT_A_TIME, 0.0)
            for message in arrived:
                if self._buffer(message):
                    until_s = 0.0
            if sum(map(len, self._buffered.values())) > _MAX_BUFFERED:
                return False
            if not arrived or (until_s == 0.0 and len(arrived) <= _AT_A_TIME):
                return True

    def end_offsets(self, places: Sequence[Place]) -> list[int]:
        """The offset after the last record that has arrived in each topic-partition."""
        return [self._positions[place] for place in places]

    def take(self, place: Place, first: int, last: int) -> list[pa.RecordBatch] | None:
        """Returns the records at offsets `first` to `last`, exclusive, and removes them from the buffer.

        `None` if not all of them are buffered.
        """
        buffered = self._buffered.get(place)
        if not buffered or buffered[0].offset() < first or self._positions[place] < last:
            return None
        wanted = [message for message in buffered if message.offset() < last]
        self._buffered[place] = buffered[len(wanted) :]
        return [to_batch(wanted)]

    def _buffer(self, message: Any) -> bool:
        error = message.error()
        if error is None:
            place = (message.topic(), message.partition())
            self._buffered.setdefault(place, []).append(message)
            self._positions[place] = message.offset() + 1
            return True
        if error.code() != client().KafkaError._PARTITION_EOF and not is_temporary(error, waited_s=0.0):
            raise client().KafkaException(error)
        return False
