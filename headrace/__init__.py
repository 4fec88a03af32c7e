"""Headrace: the Kafka Streams programming model for Python, executed by Apache Spark."""

from headrace import serdes
from headrace._graph.stores import StoreSpec
from headrace.config import StreamsConfig
from headrace.dsl.branches import BranchedKStream
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.cogrouped_stream import CogroupedKStream
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.grouped_stream import KGroupedStream
from headrace.dsl.grouped_table import KGroupedTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.topology import Topology
from headrace.dsl.windowed_cogroup import SessionWindowedCogroupedKStream, TimeWindowedCogroupedKStream
from headrace.dsl.windowed_stream import SessionWindowedKStream, TimeWindowedKStream
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
from headrace.model.emission import BufferConfig, EmitStrategy, Suppressed
from headrace.model.error_handlers import ErrorHandlerContext, ErrorHandlerResponse
from headrace.model.pending import Pending, PendingTask
from headrace.model.processor import (
    Cancellable,
    FixedKeyProcessor,
    Processor,
    ProcessorContext,
    PunctuationType,
    RecordMetadata,
    To,
)
from headrace.model.record import Change, Record
from headrace.model.routing import RecordContext
from headrace.model.store_interfaces import (
    KeyValueStore,
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyVersionedKeyValueStore,
    ReadOnlyWindowStore,
    SessionStore,
    TimestampedKeyValueStore,
    ValueAndTimestamp,
    VersionedKeyValueStore,
    VersionedRecord,
    WindowStore,
)
from headrace.model.stores import Stores
from headrace.model.timestamps import (
    ConsumerRecord,
    fail_on_invalid_timestamp,
    log_and_skip_on_invalid_timestamp,
    use_partition_time_on_invalid_timestamp,
)
from headrace.model.windows import (
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Window,
    Windowed,
)
from headrace.streams import Streams
from headrace.topics.embedded.topics import LocalTopics
from headrace.topics.kafka.topics import KafkaTopics

__version__ = "0.1.0"

__all__ = [
    "BranchedKStream",
    "BufferConfig",
    "Cancellable",
    "Change",
    "CogroupedKStream",
    "ConfigError",
    "ConsumerRecord",
    "EmitStrategy",
    "ErrorHandlerContext",
    "ErrorHandlerResponse",
    "FixedKeyProcessor",
    "GlobalKTable",
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
    "PunctuationType",
    "ReadOnlyKeyValueStore",
    "ReadOnlySessionStore",
    "ReadOnlyTimestampedKeyValueStore",
    "ReadOnlyVersionedKeyValueStore",
    "ReadOnlyWindowStore",
    "Record",
    "RecordContext",
    "RecordMetadata",
    "RegistryError",
    "RoutingError",
    "SerdeError",
    "SessionStore",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "StateError",
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
    "To",
    "TopicError",
    "Topology",
    "TopologyError",
    "UnlimitedWindows",
    "ValueAndTimestamp",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "Window",
    "WindowStore",
    "Windowed",
    "fail_on_invalid_timestamp",
    "log_and_skip_on_invalid_timestamp",
    "serdes",
    "use_partition_time_on_invalid_timestamp",
]
