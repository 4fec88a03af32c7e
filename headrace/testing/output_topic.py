"""`TestOutputTopic`: reads the records that the topology has written to a topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic

from headrace._runtime.local_task import Message
from headrace.errors import SerdeError, TopicError
from headrace.model.record import Headers, Record
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.testing.driver import TopologyTestDriver

K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)


class TestOutputTopic(Generic[K, V]):
    """A topic to read results from; `driver.output_topic(name)` returns it.

    Records are read in the order in which they were written, and reading removes them: each record is read only once,
    also if there are several objects for the topic. Keys and values are decoded with the serdes passed to
    `output_topic`, else with those of the topology. A record that cannot be decoded raises a `SerdeError` and stays in
    the topic. Iterating reads record by record; `len()` is the number of unread records.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = hr.StreamsBuilder()
        >>> builder.stream("in").group_by_key().count().to_stream().to("out")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     for key in "abaab":
        ...         driver.input_topic("in").pipe(key, "x", timestamp_ms=5)
        ...     out = driver.output_topic("out", serdes.String(), serdes.Long())
        ...     print(out.read_record(), out.read_key_value(), out.read_value(), out.queue_size())
        ...     print(out.read_key_values_as_dict(), out.is_empty())
        Record(key='a', value=1, timestamp_ms=5) ('b', 1) 2 2
        {'a': 3, 'b': 2} True
    """

    __test__ = False

    def __init__(self, driver: TopologyTestDriver, name: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        self._driver = driver
        self._name = name
        self._key_serde = key_serde
        self._value_serde = value_serde

    def __repr__(self) -> str:
        return f"TestOutputTopic({self._name!r})"

    def read_record(self) -> Record[K, V]:
        """Reads the next record, with its timestamp, headers and partition.

        Raises:
            TopicError: if there is no unread record.
            SerdeError: if the record cannot be decoded with the serdes of this object; it stays unread.
        """
        runtime = self._driver._open()
        unread = runtime.outputs.get(self._name)
        if not unread:
            written = runtime.written[self._name]
            state = f"all {written} that were written have been read" if written else "none was written so far"
            message = f"Topic {self._name!r} has no record to read: {state}."
            raise TopicError(message)
        record = self._decode(unread[0], runtime.written[self._name] - len(unread))
        unread.popleft()
        return record

    def read(self) -> Record[K, V]:
        """Reads the next record; another name for `read_record`."""
        return self.read_record()

    def read_value(self) -> V:
        """Reads the next record and returns its value. Errors are those of `read_record`."""
        return self.read_record().value

    def read_key_value(self) -> tuple[K, V]:
        """Reads the next record and returns its key and value. Errors are those of `read_record`."""
        record = self.read_record()
        return record.key, record.value

    def read_all(self) -> list[Record[K, V]]:
        """Reads all unread records, in the order in which they were written.

        Raises:
            SerdeError: if a record cannot be decoded; all records then stay unread.
        """
        runtime = self._driver._open()
        unread = runtime.outputs.get(self._name, ())
        first = runtime.written[self._name] - len(unread)
        records = [self._decode(message, first + index) for index, message in enumerate(unread)]
        runtime.outputs.pop(self._name, None)
        return records

    def read_values(self) -> list[V]:
        """Reads all unread records and returns their values."""
        return [record.value for record in self.read_all()]

    def read_key_values(self) -> list[tuple[K, V]]:
        """Reads all unread records and returns pairs of key and value."""
        return [(record.key, record.value) for record in self.read_all()]

    def read_key_values_as_dict(self) -> dict[K, V]:
        """Reads all unread records and returns the last value of each key.

        Raises:
            TopicError: if a record has no key; all records then stay unread.
        """
        runtime = self._driver._open()
        if any(message.key is None for message in runtime.outputs.get(self._name, ())):
            message = (
                f"Topic {self._name!r} has a record without a key, which read_key_values_as_dict() cannot return. "
                "Use read_key_values()."
            )
            raise TopicError(message)
        return dict(self.read_key_values())

    def is_empty(self) -> bool:
        """Whether there are no unread records."""
        return self.queue_size() == 0

    def queue_size(self) -> int:
        """Returns the number of unread records."""
        return len(self._driver._open().outputs.get(self._name, ()))

    def __len__(self) -> int:
        return self.queue_size()

    def __iter__(self) -> Iterator[Record[K, V]]:
        while not self.is_empty():
            yield self.read_record()

    def _decode(self, message: Message, index: int) -> Record[K, V]:
        key = self._decode_part("key", self._key_serde, message.key, message.headers, index)
        value = self._decode_part("value", self._value_serde, message.value, message.headers, index)
        return Record(key, value, message.timestamp_ms, message.headers, message.partition)

    def _decode_part(self, part: str, serde: Serde[Any], data: bytes | None, headers: Headers, index: int) -> Any:
        try:
            return serde.deserialize_with_headers(data, headers)
        except SerdeError as error:
            message = f"Topic {self._name!r}, {part} of record {index}: {error}"
            raise SerdeError(message) from error
