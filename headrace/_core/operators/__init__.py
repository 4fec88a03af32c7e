"""All operators, one file each: the record path that defines what is right."""

from headrace._core.operators.null_key_filter import NullKeyFilter
from headrace._core.operators.pass_through import PassThrough
from headrace._core.operators.processor import UserProcessor
from headrace._core.operators.sink import Sink
from headrace._core.operators.source import Source
from headrace._core.operators.stream_action import StreamForEach, StreamPeek, StreamPrint
from headrace._core.operators.stream_aggregate import StreamAggregate
from headrace._core.operators.stream_branch import StreamBranch
from headrace._core.operators.stream_count import StreamCount
from headrace._core.operators.stream_filter import StreamFilter
from headrace._core.operators.stream_flat_map import StreamFlatMap, StreamFlatMapValues
from headrace._core.operators.stream_map import StreamMap, StreamMapValues, StreamMapValuesWithKey, StreamSelectKey
from headrace._core.operators.stream_reduce import StreamReduce
from headrace._core.operators.table_to_stream import TableToStream

__all__ = [
    "NullKeyFilter",
    "PassThrough",
    "Sink",
    "Source",
    "StreamAggregate",
    "StreamBranch",
    "StreamCount",
    "StreamFilter",
    "StreamFlatMap",
    "StreamFlatMapValues",
    "StreamForEach",
    "StreamMap",
    "StreamMapValues",
    "StreamMapValuesWithKey",
    "StreamPeek",
    "StreamPrint",
    "StreamReduce",
    "StreamSelectKey",
    "TableToStream",
    "UserProcessor",
]
