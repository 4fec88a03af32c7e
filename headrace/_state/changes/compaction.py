"""Compaction, which keeps the cost of a restore proportional to the live state.

A compaction pass rewrites the base slice by slice, one bounded step per batch, so that no batch pays for all of it. A
step writes the live entries from the cursor on, as of the version before the batch, as one slice. A pass starts when
the retained deltas are larger than the base. A step writes at least as many bytes as the batch's own delta has, so
during a pass the deltas grow by no more than the size of the live state. A delta is removed when every region is at
least as new, a few in each batch.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from operator import add

import msgspec

from headrace._state.bytes.pages import pages
from headrace._state.changes.delta import Columns, Delta, encode_columns
from headrace._state.changes.durable import DurableTask
from headrace._state.changes.head import Head, Region, cover
from headrace._state.changes.keyspace import END, START, full_key, key_bounds
from headrace._state.replica.snapshot import Snapshot

_MIB = 1 << 20


@dataclass(frozen=True)
class CompactionPolicy:
    """When a compaction pass starts and how much it writes in one batch; all sizes before compression.

    Args:
        min_delta_bytes: no pass starts while the retained deltas are smaller than this, unless they are too many.
        max_deltas: a pass starts when a restore would read more deltas than this, plus one for every `bytes_per_delta`
            of the live state.
        min_step_bytes: the least that one step writes.
        max_step_bytes: the most that one step writes, unless the batch's own delta is larger.
        max_removals: the number of unneeded deltas and slices that one batch removes.
    """

    min_delta_bytes: int = _MIB
    max_deltas: int = 64
    bytes_per_delta: int = _MIB
    min_step_bytes: int = _MIB // 4
    max_step_bytes: int = 8 * _MIB
    max_removals: int = 8

    def step_bytes(self, delta_size: int, base_size: int) -> int:
        """The number of bytes that one step writes."""
        # The last term bounds the number of slices: the head, which every batch writes, lists all of them.
        wanted = max(self.min_step_bytes, delta_size, base_size // 256)
        return min(wanted, max(self.max_step_bytes, delta_size))


def advance(head: Head, durable: DurableTask, snapshot: Snapshot, delta_size: int, policy: CompactionPolicy) -> Head:
    """Runs a step of the compaction pass, if one has begun or must begin; removes some unneeded deltas and slices."""
    base_size = sum(region.size for region in head.regions)
    if head.cursor is None and _is_due(head, snapshot, base_size, policy):
        head = msgspec.structs.replace(head, cursor=START)
    if head.cursor is not None:
        head = _step(head, head.cursor, durable, snapshot, policy.step_bytes(delta_size, base_size))
    return _remove(head, durable, policy.max_removals)


def _is_due(head: Head, snapshot: Snapshot, base_size: int, policy: CompactionPolicy) -> bool:
    needed = head.needed()
    # Estimates the live part of the base: entries that were deleted since it was written should not delay a pass.
    entries = sum(region.entries for region in head.regions)
    live = sum(snapshot.reader(store).approximate_len() for store in snapshot.stores)
    live_size = base_size * live // entries if entries > live else base_size
    if len(needed) > policy.max_deltas + live_size // policy.bytes_per_delta:
        return True
    return sum(entry.size for entry in needed) > max(live_size, policy.min_delta_bytes)


def _step(head: Head, low: bytes, durable: DurableTask, snapshot: Snapshot, limit: int) -> Head:
    found, high = read_from(snapshot, low, limit)
    slice_id, size = 0, 0
    if found:
        slice_id = head.next_slice
        blob, size = encode_columns(found)
        durable.put_slice(slice_id, blob)
    entries = sum(len(columns.keys) for columns in found.values())
    regions = cover(head.regions, low, Region(high, snapshot.position.version, slice_id, size, entries))
    dropped = {region.slice_id for region in head.regions} - {region.slice_id for region in regions} - {0}
    return msgspec.structs.replace(
        head,
        regions=regions,
        garbage=(*head.garbage, *sorted(dropped)),
        cursor=None if high == END else high,
        next_slice=head.next_slice + 1,
    )


def read_from(snapshot: Snapshot, low: bytes, limit: int) -> tuple[Delta, bytes]:
    """Returns live entries from the full key `low` on, until they have `limit` bytes in all.

    Also returns the full key of the first entry that is left out, `END` if there is none.
    """
    found: Delta = {}
    size = 0
    for store in snapshot.stores:
        bounds = key_bounds(store, low, END)
        if bounds is None:
            continue
        columns = Columns([], [])
        for page in pages(snapshot.reader(store).range(*bounds)):
            keys, values = zip(*page, strict=True)
            sizes = list(accumulate(map(add, map(len, keys), map(len, values)), initial=size))
            fitting = min(bisect_left(sizes, limit), len(page))
            columns.keys.extend(keys[:fitting])
            columns.values.extend(values[:fitting])
            if fitting:
                found[store] = columns
            if fitting < len(page):
                return found, full_key(store, page[fitting][0])
            size = sizes[-1]
    return found, END


def _remove(head: Head, durable: DurableTask, budget: int) -> Head:
    floor = head.floor
    deltas = [entry for entry in head.deltas if entry.version <= floor][:budget]
    for entry in deltas:
        durable.remove_delta(entry.version)
    slices = head.garbage[: budget - len(deltas)]
    for slice_id in slices:
        durable.remove_slice(slice_id)
    return msgspec.structs.replace(
        head,
        tail=deltas[-1].position if deltas else head.tail,
        deltas=head.deltas[len(deltas) :],
        garbage=head.garbage[len(slices) :],
    )
