"""All operators, one file each: the record path that defines what is right."""

from headrace._core.operators.foreign_key_answer import ForeignKeyAnswer, ForeignKeyChange, ForeignKeyReceive
from headrace._core.operators.foreign_key_resolve import ForeignKeyResolve
from headrace._core.operators.foreign_key_subscribe import ForeignKeySubscribe
from headrace._core.operators.null_key_filter import NullKeyFilter
from headrace._core.operators.pass_through import PassThrough
from headrace._core.operators.processor import UserProcessor
from headrace._core.operators.relay import HandOver, TakeOver
from headrace._core.operators.session_window_aggregate import SessionWindowAggregate
from headrace._core.operators.sink import Sink
from headrace._core.operators.sliding_window_aggregate import SlidingWindowAggregate
from headrace._core.operators.source import Source, TimestampGuard
from headrace._core.operators.stream_action import StreamForEach, StreamPeek, StreamPrint
from headrace._core.operators.stream_aggregate import StreamAggregate
from headrace._core.operators.stream_branch import StreamBranch
from headrace._core.operators.stream_count import StreamCount
from headrace._core.operators.stream_filter import StreamFilter
from headrace._core.operators.stream_flat_map import StreamFlatMap, StreamFlatMapValues
from headrace._core.operators.stream_foreign_key_join import StreamForeignKeyJoin, StreamForeignKeySelect
from headrace._core.operators.stream_global_join import StreamGlobalJoin
from headrace._core.operators.stream_join import JoinSettings, StreamJoin
from headrace._core.operators.stream_join_window import StreamJoinWindow
from headrace._core.operators.stream_map import StreamMap, StreamMapValues, StreamMapValuesWithKey, StreamSelectKey
from headrace._core.operators.stream_outer_join import StreamOuterJoin
from headrace._core.operators.stream_reduce import StreamReduce
from headrace._core.operators.stream_table_grace_join import StreamTableGraceJoin
from headrace._core.operators.stream_table_join import StreamTableJoin
from headrace._core.operators.table_aggregate import TableAggregate
from headrace._core.operators.table_copy import TableCopy
from headrace._core.operators.table_filter import TableFilter
from headrace._core.operators.table_group_by import TableGroupBy
from headrace._core.operators.table_join import JoinSide, TableJoin, TableJoinMerge
from headrace._core.operators.table_map_values import TableMapValues
from headrace._core.operators.table_reduce import TableReduce
from headrace._core.operators.table_source import TableSource
from headrace._core.operators.table_suppress import SuppressSettings, TableSuppress
from headrace._core.operators.table_to_stream import TableToStream
from headrace._core.operators.time_window_aggregate import TimeWindowAggregate, TimeWindowCount
from headrace._core.operators.versioned_table_source import VersionedTableSource
from headrace._core.operators.windowed_operator import WindowSettings

__all__ = [
    "ForeignKeyAnswer",
    "ForeignKeyChange",
    "ForeignKeyReceive",
    "ForeignKeyResolve",
    "ForeignKeySubscribe",
    "HandOver",
    "JoinSettings",
    "JoinSide",
    "NullKeyFilter",
    "PassThrough",
    "SessionWindowAggregate",
    "Sink",
    "SlidingWindowAggregate",
    "Source",
    "StreamAggregate",
    "StreamBranch",
    "StreamCount",
    "StreamFilter",
    "StreamFlatMap",
    "StreamFlatMapValues",
    "StreamForEach",
    "StreamForeignKeyJoin",
    "StreamForeignKeySelect",
    "StreamGlobalJoin",
    "StreamJoin",
    "StreamJoinWindow",
    "StreamMap",
    "StreamMapValues",
    "StreamMapValuesWithKey",
    "StreamOuterJoin",
    "StreamPeek",
    "StreamPrint",
    "StreamReduce",
    "StreamSelectKey",
    "StreamTableGraceJoin",
    "StreamTableJoin",
    "SuppressSettings",
    "TableAggregate",
    "TableCopy",
    "TableFilter",
    "TableGroupBy",
    "TableJoin",
    "TableJoinMerge",
    "TableMapValues",
    "TableReduce",
    "TableSource",
    "TableSuppress",
    "TableToStream",
    "TakeOver",
    "TimeWindowAggregate",
    "TimeWindowCount",
    "TimestampGuard",
    "UserProcessor",
    "VersionedTableSource",
    "WindowSettings",
]
