"""The base class of nodes, and the names of internal stores."""

from __future__ import annotations

from dataclasses import dataclass

STREAM_TIMES = "$stream-times"


def stream_time_table(name: str) -> str:
    """The name of the store with the stream time of each key of an operator."""
    return f"{name}-stream-time-table"


def open_windows(name: str) -> str:
    """The name of the internal store with the windows that an operator has not emitted yet."""
    return f"${name}-open"


def idle_keys(name: str) -> str:
    """The name of the internal store with the wall-clock time at which an operator last saw each key."""
    return f"${name}-idle"


@dataclass(frozen=True, kw_only=True)
class Node:
    """A named node of the graph; `parents` are the names of the nodes whose records it receives.

    `tables` are the names of the tables whose rows it looks up. `stores` are all stores it uses, including those of the
    tables; `reads` are the stores it never writes. `global_stores` are the stores of global tables that it reads. Nodes
    that share a store belong to one sub-topology, but a global store does not connect them.
    """

    name: str
    parents: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    global_stores: tuple[str, ...] = ()

    @property
    def internal_stores(self) -> tuple[str, ...]:
        """Names of the internal stores of the operator, which hold bytes and cannot be queried."""
        return ()

    @property
    def takes_null_keys(self) -> bool:
        """Whether repartitions before the node let records without a key through: whether it is a left or outer join.

        As in Kafka Streams, this applies to both sides of the join. The right side of a left join drops such records.
        """
        return False


@dataclass(frozen=True, kw_only=True)
class RowJoin(Node):
    """The base of joins of a stream with rows; if `left`, a record that has no key or no row has a result, too."""

    left: bool

    @property
    def takes_null_keys(self) -> bool:
        return self.left
