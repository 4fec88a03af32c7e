"""Headrace: the Kafka Streams programming model for Python, executed by Apache Spark."""

from typing import TYPE_CHECKING

from headrace import serdes
from headrace._public_classes import suggest_names
from headrace._state.bytes.api import ByteReader, ByteStore
from headrace._suggestions.attributes import module_lookup
from headrace.config import StreamsConfig
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.grouped.cogrouped_stream import CogroupedKStream
from headrace.dsl.grouped.grouped_stream import KGroupedStream
from headrace.dsl.grouped.grouped_table import KGroupedTable
from headrace.dsl.grouped.windowed_cogroup import SessionWindowedCogroupedKStream, TimeWindowedCogroupedKStream
from headrace.dsl.grouped.windowed_stream import SessionWindowedKStream, TimeWindowedKStream
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.stores import Stores
from headrace.dsl.streams.branches import BranchedKStream
from headrace.dsl.tables.global_table import GlobalKTable
from headrace.dsl.topology import Topology
from headrace.errors import (
    ConfigError,
    ProcessingError,
    RegistryError,
    RoutingError,
    SerdeError,
    StateError,
    StreamsError,
    TopicError,
    TopologyError,
)
from headrace.model.error_handlers import ErrorHandlerContext, ErrorHandlerResponse
from headrace.model.headers import Headers
from headrace.model.lifecycle import State, StateListener, UncaughtExceptionHandler, UncaughtExceptionResponse
from headrace.model.offset_reset import AutoOffsetReset
from headrace.model.pending import Pending, PendingTask
from headrace.model.processor import (
    Cancellable,
    Counter,
    FixedKeyProcessor,
    Gauge,
    Processor,
    ProcessorContext,
    ProcessorMetrics,
    ProcessorWrapper,
    PunctuationType,
    RecordMetadata,
    ValueTransformerWithKey,
)
from headrace.model.record import Change, Record
from headrace.model.routing import RecordContext, To
from headrace.model.stores.interfaces import (
    AggregationWithHeaders,
    KeyValueStore,
    ReadOnlyKeyValueStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyTimestampedKeyValueStoreWithHeaders,
    ReadOnlyVersionedKeyValueStore,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    ValueAndTimestamp,
    ValueTimestampHeaders,
    VersionedKeyValueStore,
    VersionedRecord,
)
from headrace.model.stores.specs import StoreSpec
from headrace.model.stores.windowed_interfaces import (
    ReadOnlySessionStore,
    ReadOnlySessionStoreWithHeaders,
    ReadOnlyTimestampedWindowStore,
    ReadOnlyTimestampedWindowStoreWithHeaders,
    ReadOnlyWindowStore,
    SessionStore,
    SessionStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
    WindowStore,
)
from headrace.model.time.emission import BufferConfig, EmitStrategy, Suppressed
from headrace.model.time.join_windows import JoinWindows
from headrace.model.time.timestamps import (
    ConsumerRecord,
    fail_on_invalid_timestamp,
    log_and_skip_on_invalid_timestamp,
    use_partition_time_on_invalid_timestamp,
    wallclock_timestamp,
)
from headrace.model.time.windows import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Window,
    Windowed,
    Windows,
)
from headrace.streams import Streams
from headrace.topics.embedded.topics import LocalTopics
from headrace.topics.kafka.topics import KafkaTopics

__version__ = "0.1.0"

__all__ = [
    "AggregationWithHeaders",
    "AutoOffsetReset",
    "BranchedKStream",
    "BufferConfig",
    "ByteReader",
    "ByteStore",
    "Cancellable",
    "Change",
    "CogroupedKStream",
    "ConfigError",
    "ConsumerRecord",
    "Counter",
    "EmitStrategy",
    "ErrorHandlerContext",
    "ErrorHandlerResponse",
    "FixedKeyProcessor",
    "Gauge",
    "GlobalKTable",
    "Headers",
    "JoinWindows",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KafkaTopics",
    "KeyValueStore",
    "LocalTopics",
    "Pending",
    "PendingTask",
    "ProcessingError",
    "Processor",
    "ProcessorContext",
    "ProcessorMetrics",
    "ProcessorWrapper",
    "PunctuationType",
    "ReadOnlyKeyValueStore",
    "ReadOnlySessionStore",
    "ReadOnlySessionStoreWithHeaders",
    "ReadOnlyTimestampedKeyValueStore",
    "ReadOnlyTimestampedKeyValueStoreWithHeaders",
    "ReadOnlyTimestampedWindowStore",
    "ReadOnlyTimestampedWindowStoreWithHeaders",
    "ReadOnlyVersionedKeyValueStore",
    "ReadOnlyWindowStore",
    "Record",
    "RecordContext",
    "RecordMetadata",
    "RegistryError",
    "RoutingError",
    "SerdeError",
    "SessionStore",
    "SessionStoreWithHeaders",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "State",
    "StateError",
    "StateListener",
    "StoreSpec",
    "Stores",
    "Streams",
    "StreamsBuilder",
    "StreamsConfig",
    "StreamsError",
    "Suppressed",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindows",
    "TimestampedKeyValueStore",
    "TimestampedKeyValueStoreWithHeaders",
    "TimestampedWindowStore",
    "TimestampedWindowStoreWithHeaders",
    "To",
    "TopicError",
    "Topology",
    "TopologyError",
    "UncaughtExceptionHandler",
    "UncaughtExceptionResponse",
    "UnlimitedWindows",
    "ValueAndTimestamp",
    "ValueTimestampHeaders",
    "ValueTransformerWithKey",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "Window",
    "WindowStore",
    "Windowed",
    "Windows",
    "fail_on_invalid_timestamp",
    "log_and_skip_on_invalid_timestamp",
    "serdes",
    "use_partition_time_on_invalid_timestamp",
    "wallclock_timestamp",
]

suggest_names([globals()[name] for name in __all__])

if not TYPE_CHECKING:  # type checkers must still refuse unknown names
    __getattr__ = module_lookup(__name__, __all__)
