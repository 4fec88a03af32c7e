"""Restores an empty replica from durable state, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

from headrace._state.changes.delta import decode_columns, sort_changes
from headrace._state.changes.durable import DurableTask
from headrace._state.changes.head import Head, intervals
from headrace._state.changes.keyspace import clip
from headrace._state.replica.replica import ReplicaBuilder

# Deltas are merged up to this size before they are written, so that a page that many of them touch is written once.
_MERGED_BYTES = 16 << 20


def restore(durable: DurableTask, head: Head, target: ReplicaBuilder, describe: str) -> None:
    """Writes the entries of every region, then every delta that some region lacks.

    Such a delta may be older than another region, and put back an old value there. Then a later delta, which is also
    applied, has the newer value again.
    """
    for low, region in intervals(head.regions):
        if region.slice_id:
            blob = durable.get_slice(region.slice_id)
            slice_ = decode_columns(blob, f"{describe}, slice {region.slice_id} of version {region.version}")
            target.append(clip(slice_, low, region.high))
    for changes in _merge_deltas(durable, head, describe):
        target.apply(sort_changes(changes))


def _merge_deltas(durable: DurableTask, head: Head, describe: str) -> Iterator[dict[str, dict[bytes, bytes | None]]]:
    united: dict[str, dict[bytes, bytes | None]] = {}
    size = 0
    for entry in head.needed():
        delta = decode_columns(durable.get_delta(entry.version), f"{describe}, delta of version {entry.version}")
        for store, columns in delta.items():
            united.setdefault(store, {}).update(zip(*columns, strict=True))
        size += entry.size
        if size >= _MERGED_BYTES:
            yield united
            united, size = {}, 0
    yield united
