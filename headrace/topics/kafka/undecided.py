"""Waits for the end of transactions, because Kafka may lose the markers that end them.

Kafka 4.3 can lose the abort marker of a transaction that timed out while its broker was down. The coordinator then
takes the transaction for aborted, but its records stay undecided: readers of committed records wait for them, and the
next transaction with the same id commits them together with its own. So after a transaction that was not completed,
nothing is written to a topic-partition before everything in it is decided.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from headrace.errors import TopicError
from headrace.topics.kafka.cluster import KafkaCluster, Place

_LOOK_EVERY_S = 0.1
_MOST_COMMANDS = 3


def await_decided(cluster: KafkaCluster, places: Sequence[Place]) -> None:
    """Waits until every record that is in these topic-partitions now is committed or aborted, whoever wrote it.

    Raises:
        TopicError: if that takes longer than the `retry_timeout_s` of the cluster.
    """
    ends = dict(zip(places, cluster.stored_ends(places), strict=True))
    until_s = time.monotonic() + cluster.retry_timeout_s
    while ends:
        committed = dict(zip(ends, cluster.end_offsets(ends), strict=True))
        ends = {place: end for place, end in ends.items() if committed[place] < end}
        if ends and time.monotonic() >= until_s:
            raise _undecided_error(cluster, {place: committed[place] for place in ends})
        if ends:
            time.sleep(_LOOK_EVERY_S)


def _undecided_error(cluster: KafkaCluster, begins: dict[Place, int]) -> TopicError:
    """The error for records that stay undecided; `begins` has the first such offset of each topic-partition."""
    (topic, partition), offset = next(iter(begins.items()))
    others = f" (and {len(begins) - 1} other partitions)" if len(begins) > 1 else ""
    commands = [
        f"kafka-transactions.sh --bootstrap-server {cluster.bootstrap_servers} abort --topic {topic} "
        f"--partition {partition} --start-offset {offset}"
        for (topic, partition), offset in list(begins.items())[:_MOST_COMMANDS]
    ]
    return TopicError(
        f"Topic {topic!r}, partition {partition}: the records from offset {offset} on are neither committed nor "
        f"aborted{others}, at Kafka {cluster.bootstrap_servers}, for {cluster.retry_timeout_s:.0f} s. Kafka may have "
        "lost the end of a transaction of this application while a broker was down; the next transaction would then "
        "commit its records, too. Unless another application has a transaction open there (then wait for it, or raise "
        f"task_timeout), abort it with Kafka's own tool and start again: {'; '.join(commands)}"
    )
