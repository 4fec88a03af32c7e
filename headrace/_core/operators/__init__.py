"""All operators, by theme. Their record path defines what is correct; batch forms must equal it."""

from headrace._core.operators.aggregations.count_and_reduce import Fold, counting, one_less, reducing, subtracting
from headrace._core.operators.aggregations.streams import StreamAggregate, StreamCount
from headrace._core.operators.aggregations.tables import TableAggregate, TableGroupBy
from headrace._core.operators.foreign_keys.results import ForeignKeyLeftRows, ForeignKeyResolve
from headrace._core.operators.foreign_keys.streams import StreamForeignKeyJoin, StreamForeignKeySelect
from headrace._core.operators.foreign_keys.tables import (
    ForeignKeyAnswer,
    ForeignKeyChange,
    ForeignKeyReceive,
    ForeignKeySubscribe,
)
from headrace._core.operators.joins.stream_stream import JoinSettings, StreamJoin, StreamJoinWindow
from headrace._core.operators.joins.stream_stream_left_outer import StreamOuterJoin
from headrace._core.operators.joins.stream_table import StreamGlobalJoin, StreamTableGraceJoin, StreamTableJoin
from headrace._core.operators.joins.table_table import TableJoin, TableJoinMerge, TableSide
from headrace._core.operators.processors.processor import UserProcessor
from headrace._core.operators.stateless.actions import StreamForEach, StreamPeek, StreamPrint
from headrace._core.operators.stateless.filtering import NullKeyFilter, PassThrough, StreamBranch, StreamFilter
from headrace._core.operators.stateless.mapping import (
    StreamFlatMap,
    StreamFlatMapValues,
    StreamFlatMapValuesWithKey,
    StreamMap,
    StreamMapValues,
    StreamMapValuesWithKey,
    StreamSelectKey,
)
from headrace._core.operators.tables.functions import TableFilter, TableMapValues, TableToStream
from headrace._core.operators.tables.sources import TableCopy, TableSource, VersionedTableSource
from headrace._core.operators.tables.transforming import TableTransformValues
from headrace._core.operators.topics.routing import RoutedSink
from headrace._core.operators.topics.sink import HandOver, Sink, TakeOver
from headrace._core.operators.topics.source import Source, TimestampGuard
from headrace._core.operators.windows.own_windows import OwnWindowAggregate
from headrace._core.operators.windows.session_windows import SessionWindowAggregate
from headrace._core.operators.windows.sliding_windows import SlidingWindowAggregate
from headrace._core.operators.windows.suppress import SuppressSettings, TableSuppress
from headrace._core.operators.windows.time_windows import TimeWindowAggregate, TimeWindowCount
from headrace._core.operators.windows.windowed_operator import WindowSettings

__all__ = [
    "Fold",
    "ForeignKeyAnswer",
    "ForeignKeyChange",
    "ForeignKeyLeftRows",
    "ForeignKeyReceive",
    "ForeignKeyResolve",
    "ForeignKeySubscribe",
    "HandOver",
    "JoinSettings",
    "NullKeyFilter",
    "OwnWindowAggregate",
    "PassThrough",
    "RoutedSink",
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
    "StreamFlatMapValuesWithKey",
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
    "TableSide",
    "TableSource",
    "TableSuppress",
    "TableToStream",
    "TableTransformValues",
    "TakeOver",
    "TimeWindowAggregate",
    "TimeWindowCount",
    "TimestampGuard",
    "UserProcessor",
    "VersionedTableSource",
    "WindowSettings",
    "counting",
    "one_less",
    "reducing",
    "subtracting",
]
