"""A named vertex of a processor graph, and the names of what operators keep beside their stores."""

from __future__ import annotations

from dataclasses import dataclass

STREAM_TIMES = "$stream-times"


def stream_time_table(name: str) -> str:
    """The store of an operator's times, where every key has one of its own."""
    return f"{name}-stream-time-table"


def open_windows(name: str) -> str:
    """Where an operator keeps which of its windows are still to be written."""
    return f"${name}-open"


def idle_keys(name: str) -> str:
    """Where an operator keeps when each key was last seen on the wall clock."""
    return f"${name}-idle"


@dataclass(frozen=True, kw_only=True)
class Node:
    """A named vertex; `parents` are the names of the nodes whose records it receives.

    `tables` are the names of those whose rows it looks up; `stores` include theirs, and `reads` are those that it never
    writes. `global_stores` are those of global tables that it reads: they do not tie it to other nodes, as `stores` do.
    """

    name: str
    parents: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    global_stores: tuple[str, ...] = ()

    @property
    def internal_stores(self) -> tuple[str, ...]:
        """Names of what an operator keeps for itself beside its stores, in bytes."""
        return ()

    @property
    def takes_null_keys(self) -> bool:
        """Whether it is a join that has a result for records without a key."""
        return False
