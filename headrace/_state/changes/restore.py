"""Filling an empty replica from durable state alone, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

from headrace._state.changes.delta import decode, in_order
from headrace._state.changes.durable import DurableTask
from headrace._state.changes.head import Head, intervals
from headrace._state.changes.keyspace import clip
from headrace._state.replica.replica import Rebuild

# Deltas are united up to this size before they are written: a page that many of them touch is then written once.
_UNITED_BYTES = 16 << 20


def restore(durable: DurableTask, head: Head, target: Rebuild, describe: str) -> None:
    """Writes every region, then every delta that any region lacks.

    A region may be newer than some of these deltas. They do it no harm: what they set back, a later delta sets again.
    """
    for low, region in intervals(head.regions):
        if region.slice_id:
            blob = durable.get_slice(region.slice_id)
            slice_ = decode(blob, f"{describe}, slice {region.slice_id} of version {region.version}")
            target.append(clip(slice_, low, region.high))
    for changes in _united(durable, head, describe):
        target.apply(in_order(changes))


def _united(durable: DurableTask, head: Head, describe: str) -> Iterator[dict[str, dict[bytes, bytes | None]]]:
    united: dict[str, dict[bytes, bytes | None]] = {}
    size = 0
    for entry in head.needed():
        delta = decode(durable.get_delta(entry.version), f"{describe}, delta of version {entry.version}")
        for store, columns in delta.items():
            united.setdefault(store, {}).update(zip(*columns, strict=True))
        size += entry.size
        if size >= _UNITED_BYTES:
            yield united
            united, size = {}, 0
    yield united
