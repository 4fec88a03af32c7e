"""Filling an empty replica from durable state alone, one blob in memory at a time."""

from __future__ import annotations

from headrace._state.delta import Delta, decode
from headrace._state.durable import DurableTask
from headrace._state.head import Head, intervals
from headrace._state.keyspace import clip
from headrace._state.replica import Rebuild


def restore(durable: DurableTask, head: Head, target: Rebuild, describe: str) -> None:
    """Writes every region, then of every later delta the entries in regions older than it."""
    for low, region in intervals(head.regions):
        if region.slice_id:
            blob = durable.get_slice(region.slice_id)
            slice_ = decode(blob, f"{describe}, slice {region.slice_id} of version {region.version}")
            target.append(clip(slice_, low, region.high))
    for entry in head.needed():
        delta = decode(durable.get_delta(entry.version), f"{describe}, delta of version {entry.version}")
        target.apply(_newer(delta, entry.version, head))


def _newer(delta: Delta, version: int, head: Head) -> Delta:
    if all(region.version < version for region in head.regions):
        return delta
    parts = [clip(delta, low, region.high) for low, region in intervals(head.regions) if region.version < version]
    merged: Delta = {}
    for part in parts:
        for store, columns in part.items():
            if store in merged:
                merged[store].keys.extend(columns.keys)
                merged[store].values.extend(columns.values)
            else:
                merged[store] = columns
    return merged
