"""The immutable nodes of a processor graph: what was asked for, without behaviour. Operators give them meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace._graph.stores import Store
from headrace.processor import ProcessorFactory
from headrace.serdes import Serde
from headrace.suppressed import BufferConfig
from headrace.timestamps import Extractor
from headrace.windowing import Windows

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


@dataclass(frozen=True, kw_only=True)
class Source(Node):
    """Reads topics. An internal one reads what a repartition sink of the same topology wrote.

    Of a global one every task gets all records. What an earlier stage of the same task has handed over comes before all
    else that follows from the same input record.
    """

    topics: tuple[str, ...]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    timestamp_extractor: Extractor | None = None
    internal: bool = False
    is_global: bool = False
    handed_over: bool = False


@dataclass(frozen=True, kw_only=True)
class Sink(Node):
    """Writes a topic; an internal one is the writing half of a repartition, or of a relay.

    A relay hands records to a later stage of the same task, so it keeps the partition whatever the key.
    """

    topic: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    internal: bool = False
    partitions: int | None = None
    relay: bool = False


@dataclass(frozen=True, kw_only=True)
class Filter(Node):
    """Keeps the records whose predicate answer equals `keep`."""

    predicate: Callable[[Any, Any], object]
    keep: bool = True


@dataclass(frozen=True, kw_only=True)
class NullKeyFilter(Node):
    """Drops records without a key in front of a repartition."""


@dataclass(frozen=True, kw_only=True)
class Map(Node):
    """One record into one record."""

    mapper: Callable[[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class MapValues(Node):
    """One value into one value."""

    mapper: Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class MapValuesWithKey(Node):
    """One value into one value, seeing the key."""

    mapper: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class FlatMap(Node):
    """One record into any number of records."""

    mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]


@dataclass(frozen=True, kw_only=True)
class FlatMapValues(Node):
    """One value into any number of values."""

    mapper: Callable[[Any], Iterable[Any]]


@dataclass(frozen=True, kw_only=True)
class SelectKey(Node):
    """Gives each record a new key."""

    selector: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class Peek(Node):
    """Calls a function for each record and passes the record on."""

    action: Callable[[Any, Any], object]


@dataclass(frozen=True, kw_only=True)
class ForEach(Node):
    """Calls a function for each record; the end of a stream."""

    action: Callable[[Any, Any], object]


@dataclass(frozen=True, kw_only=True)
class Print(Node):
    """Prints each record; the end of a stream."""

    label: str


@dataclass(frozen=True, kw_only=True)
class Branch(Node):
    """Sends each record to the first child whose predicate holds; a predicate of `None` always holds."""

    predicates: tuple[Callable[[Any, Any], object] | None, ...]


@dataclass(frozen=True, kw_only=True)
class PassThrough(Node):
    """Passes records on unchanged: a merge, or the head of a branch."""


@dataclass(frozen=True, kw_only=True)
class JoinWindow(Node):
    """Keeps the records of one side of a join for the other to find."""


@dataclass(frozen=True, kw_only=True)
class StreamJoin(Node):
    """Joins the records of one side with those that are kept of the other: the first of its stores.

    `join` is what people call it; `merge` the node where both sides come together, which names what they keep of time.
    `window` is the store of this side's own records. The windows are as seen from this side. Records that wait for a
    partner are in `unjoined`, a store of both sides; `is_outer` tells whether those of this side do, `other_is_outer`
    those of the other. After `idle_ms` of silence of a key on the wall clock they are given up.
    """

    join: str
    merge: str
    window: str
    joiner: Callable[[Any, Any], Any]
    is_left: bool
    is_outer: bool
    other_is_outer: bool
    before_ms: int
    after_ms: int
    grace_ms: int
    unjoined: str | None = None
    idle_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        times = (STREAM_TIMES,) if self.unjoined is not None else ()
        return (*times, *((idle_keys(self.merge),) if self.idle_ms is not None else ()))

    @property
    def takes_null_keys(self) -> bool:
        return self.is_outer


@dataclass(frozen=True, kw_only=True)
class TableNode(Node):
    """A node that forwards changes; with the row's old value only if something downstream needs it."""

    send_old_values: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamCount(TableNode):
    """Counts the records of a key."""


@dataclass(frozen=True, kw_only=True)
class StreamAggregate(TableNode):
    """Folds the records of a key into an aggregate."""

    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class StreamReduce(TableNode):
    """Folds the values of a key into one value; the first value is the start."""

    reducer: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class WindowedAggregate(TableNode):
    """Folds the records of a key into an aggregate per window; `merger` is for sessions, `counts` if that is all.

    `emit_on_close` holds results back until their window closes. Records too late for a window go to `late_sink`, a
    child, if there is one. After `idle_ms` of silence of a key on the wall clock, its windows close; the key must be
    silent also to those that share its store, the other aggregations of a cogroup.
    """

    windows: Windows
    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]
    merger: Callable[[Any, Any, Any], Any] | None = None
    counts: bool = False
    emit_on_close: bool = False
    late_sink: str | None = None
    sharing: tuple[str, ...] = ()
    idle_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        held = (open_windows(self.name),) if self.emit_on_close else ()
        return (STREAM_TIMES, *held, *((idle_keys(self.name),) if self.idle_ms is not None else ()))


@dataclass(frozen=True, kw_only=True)
class TableMerge(TableNode):
    """The changes of several aggregations on one store, as one table: its rows are in the store they share."""


@dataclass(frozen=True, kw_only=True)
class TableSource(TableNode):
    """Records as the rows of a table. It has a store if one was named, or something downstream needs the rows."""

    store_when_needed: Store


@dataclass(frozen=True, kw_only=True)
class TableFilter(TableNode):
    """Keeps the rows whose predicate answer equals `keep`; of a `versioned` table also tombstones nobody misses."""

    predicate: Callable[[Any, Any], object]
    keep: bool
    versioned: bool


@dataclass(frozen=True, kw_only=True)
class TableMapValues(TableNode):
    """One value into one value, seeing the key."""

    mapper: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class Suppress(TableNode):
    """Holds the last update of each row back for `wait_ms`: after the end of its window, or after its first update.

    After `idle_ms` of silence of a key on the wall clock, its rows leave too.
    """

    until_window_closes: bool
    wait_ms: int
    buffer: BufferConfig
    idle_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        return (STREAM_TIMES, *((idle_keys(self.name),) if self.idle_ms is not None else ()))


@dataclass(frozen=True, kw_only=True)
class TableGroupBy(Node):
    """Sends each change to the group of the old row and to that of the new one."""

    selector: Callable[[Any, Any], tuple[Any, Any] | None]
    key_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class TableAggregate(TableNode):
    """Takes the old value of a row out of its group's aggregate, then adds the new one."""

    initializer: Callable[[], Any]
    adder: Callable[[Any, Any, Any], Any]
    subtractor: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TableReduce(TableNode):
    """The same on values alone; the first value is the start."""

    adder: Callable[[Any, Any], Any]
    subtractor: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TableToStream(Node):
    """A table's changes as records."""


@dataclass(frozen=True, kw_only=True)
class StreamGlobalJoin(Node):
    """Each record with the row of a global table that `key_selector` names; with `left` also without one."""

    key_selector: Callable[[Any, Any], Any]
    joiner: Callable[[Any, Any], Any]
    left: bool

    @property
    def takes_null_keys(self) -> bool:
        return self.left


@dataclass(frozen=True, kw_only=True)
class Process(Node):
    """Runs a processor of the user's; one with a fixed key forwards no other."""

    factory: ProcessorFactory
    fixed_key: bool = False


@dataclass(frozen=True, kw_only=True)
class TableJoin(TableNode):
    """Joins the changes of a table with the rows of another.

    `optional` says whether a result may lack the row of this table, `other_optional` that of the other.
    """

    joiner: Callable[[Any, Any], Any]
    is_left: bool
    optional: bool
    other_optional: bool


@dataclass(frozen=True, kw_only=True)
class TableJoinMerge(TableNode):
    """The table that two `TableJoin` make, of the tables `left` and `right`."""

    left: str
    right: str
    joiner: Callable[[Any, Any], Any]
    left_optional: bool
    right_optional: bool


@dataclass(frozen=True, kw_only=True)
class StreamTableJoin(Node):
    """Joins records with rows of a table; with a grace, its first store is where they wait."""

    joiner: Callable[[Any, Any], Any]
    left: bool
    versioned: bool
    grace_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        return () if self.grace_ms is None else (STREAM_TIMES,)

    @property
    def takes_null_keys(self) -> bool:
        return self.left


@dataclass(frozen=True, kw_only=True)
class ForeignKeySubscribe(Node):
    """Sends the rows of a table to the side of their foreign key."""

    foreign_key: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    foreign_serde: Serde[Any] | None
    left: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyReceive(Node):
    """Keeps which rows refer to which foreign key."""

    foreign_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class ForeignKeyAnswer(Node):
    """Answers rows with the foreign row they refer to."""

    key_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None
    left: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyChange(Node):
    """Answers all rows that refer to a foreign row that changes.

    `with_itself` if both are rows of the same table, `with_part` if the foreign ones are some of its rows.
    """

    key_serde: Serde[Any] | None
    foreign_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None
    left: bool
    with_itself: bool
    with_part: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyResolve(Node):
    """Makes results of answers."""

    joiner: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class StreamForeignKeySelect(Node):
    """Sends records to the row of their foreign key."""

    foreign_key: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    left: bool

    @property
    def takes_null_keys(self) -> bool:
        return self.left


@dataclass(frozen=True, kw_only=True)
class StreamForeignKeyJoin(Node):
    """Joins records with the row of their foreign key."""

    joiner: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    left: bool
    versioned: bool


@dataclass(frozen=True, kw_only=True)
class TableCopy(Node):
    """Keeps the rows of a table once more, for a later stage."""


@dataclass(frozen=True, kw_only=True)
class HandOver(Node):
    """Where the records of a node go into a relay to a later stage, which it shares with others."""

    number: int


@dataclass(frozen=True, kw_only=True)
class TakeOver(Node):
    """Where they come out of it."""

    number: int
