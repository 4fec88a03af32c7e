"""Headrace: the Kafka Streams programming model for Python, executed by Apache Spark."""

from headrace import serdes
from headrace.branched import BranchedKStream
from headrace.builder import StreamsBuilder
from headrace.change import Change
from headrace.cogrouped import CogroupedKStream, SessionWindowedCogroupedKStream, TimeWindowedCogroupedKStream
from headrace.config import StreamsConfig
from headrace.emit import EmitStrategy
from headrace.error_handlers import ErrorHandlerContext
from headrace.errors import (
    ConfigError,
    ProcessingError,
    RegistryError,
    SerdeError,
    StateError,
    StreamsError,
    TopicError,
    TopologyError,
)
from headrace.global_table import GlobalKTable
from headrace.grouped import KGroupedStream
from headrace.grouped_table import KGroupedTable
from headrace.kstream import KStream
from headrace.ktable import KTable
from headrace.pending import Pending, PendingTask
from headrace.processor import (
    Cancellable,
    FixedKeyProcessor,
    Processor,
    ProcessorContext,
    PunctuationType,
    RecordMetadata,
    To,
)
from headrace.record import Record
from headrace.state import Stores
from headrace.streams import Streams
from headrace.suppressed import BufferConfig, Suppressed
from headrace.timestamps import (
    ConsumerRecord,
    fail_on_invalid_timestamp,
    log_and_skip_on_invalid_timestamp,
    use_partition_time_on_invalid_timestamp,
)
from headrace.topics.local import LocalTopics
from headrace.topology import Topology
from headrace.windowed import SessionWindowedKStream, TimeWindowedKStream
from headrace.windowing import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows
from headrace.windows import Window, Windowed

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
    "FixedKeyProcessor",
    "GlobalKTable",
    "JoinWindows",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "LocalTopics",
    "Pending",
    "PendingTask",
    "ProcessingError",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Record",
    "RecordMetadata",
    "RegistryError",
    "SerdeError",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "StateError",
    "Stores",
    "Streams",
    "StreamsBuilder",
    "StreamsConfig",
    "StreamsError",
    "Suppressed",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindows",
    "To",
    "TopicError",
    "Topology",
    "TopologyError",
    "UnlimitedWindows",
    "Window",
    "Windowed",
    "fail_on_invalid_timestamp",
    "log_and_skip_on_invalid_timestamp",
    "serdes",
    "use_partition_time_on_invalid_timestamp",
]
