"""Writes the input of the Kafka cases and checks the results."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.partitioning import partitions_for
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.send import OutgoingBatch, write_at_least_once

PARTITIONS = 4
KEYS = 100_000
WORDS = 10_000
WORDS_PER_LINE = 8
_FIRST_MS = 1_700_000_000_000


class Input(NamedTuple):
    """An input topic: its records, the results for each record, and `counts`, the final count of each key."""

    topic: str
    records: int
    results_per_record: int
    counts: dict[bytes, int]


def keyed_records(cluster: KafkaCluster, topic: str, records: int) -> Input:
    rng = random.Random(7)
    keys = [b"key-%d" % rng.randrange(KEYS) for _ in range(records)]
    values = [b"%08d" % number for number in range(records)]
    _write(cluster, topic, keys, values, partitions_for(keys, PARTITIONS))
    return Input(topic, records, 1, dict(Counter(keys)))


def lines(cluster: KafkaCluster, topic: str, records: int) -> Input:
    """Lines of eight words; some words are much more frequent than others, as in natural language."""
    rng = random.Random(7)
    vocabulary = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(2, 11))) for _ in range(WORDS)]
    weights = [1 / (10 + rank) for rank in range(WORDS)]
    words = rng.choices(vocabulary, weights, k=records * WORDS_PER_LINE)
    texts = [" ".join(words[at : at + WORDS_PER_LINE]).encode() for at in range(0, len(words), WORDS_PER_LINE)]
    _write(cluster, topic, [None] * records, texts, np.arange(records) % PARTITIONS)
    return Input(topic, records, WORDS_PER_LINE, dict(Counter(word.encode() for word in words)))


def check_results(cluster: KafkaCluster, topic: str, given: Input, *, whole: bool, every_update: bool) -> None:
    """Raises an error if an output topic has wrong counts; unless `whole`, final counts are not checked."""
    places = [(topic, partition) for partition in range(PARTITIONS)]
    batches = [
        batch
        for place, end in zip(places, cluster.end_offsets(places), strict=True)
        for batch in cluster.read(*place, 0, end)
    ]
    rows = pa.Table.from_batches(batches)
    encoded = rows.column("key").combine_chunks().dictionary_encode()
    counted = np.array([int.from_bytes(value, "big") for value in rows.column("value").to_pylist()])
    codes = encoded.indices.to_numpy()
    by_key = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    ends = np.cumsum(sizes)
    within = np.arange(1, len(codes) + 1) - (ends - sizes)[codes[by_key]]
    if every_update and not np.array_equal(counted[by_key], within):
        message = f"{topic}: the counts of a key are not 1, 2, 3 and so on; some are missing or duplicated"
        raise RuntimeError(message)
    last = dict(zip(encoded.dictionary.to_pylist(), counted[by_key[ends - 1]].tolist(), strict=True))
    if whole and last != given.counts:
        wrong = sum(last.get(key) != count for key, count in given.counts.items())
        message = f"{topic}: the final counts of {wrong} of {len(given.counts)} keys are wrong"
        raise RuntimeError(message)


def _write(
    cluster: KafkaCluster,
    topic: str,
    keys: Sequence[bytes | None],
    values: Sequence[bytes],
    partitions: npt.NDArray[np.int32],
) -> None:
    cluster.create({topic: PARTITIONS})
    times = np.arange(_FIRST_MS, _FIRST_MS + len(values))
    columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary()), pa.array(times)]
    records = pa.RecordBatch.from_arrays(columns, ["key", "value", "timestamp"])
    write_at_least_once(
        cluster,
        [OutgoingBatch(topic, number, records.filter(pa.array(partitions == number))) for number in range(PARTITIONS)],
    )
