"""process, process_values and add_processor: runs a user's processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import ClassVar

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.processors.context import NodeContext
from headrace._core.operators.processors.forwarding import check_forward, child_of, with_forward_time
from headrace._core.task.context import TaskContext
from headrace.errors import StreamsError, TopologyError
from headrace.model.processor import AnyProcessor, FixedKeyProcessor, Processor, ProcessorFactory
from headrace.model.routing import To


class UserProcessor(Operator):
    """Runs a user's processor: passes records and punctuations to it, and forwards its records to the children.

    The factory must return an instance of one of the classes in `kinds`.
    """

    kinds: ClassVar[tuple[type[AnyProcessor], ...]] = (Processor, FixedKeyProcessor)

    def __init__(
        self,
        name: str,
        factory: ProcessorFactory,
        stores: Sequence[str],
        read_only: Sequence[str],
        *,
        fixed_key: bool,
        is_global: bool,
    ) -> None:
        super().__init__(name)
        self.store_names = tuple(stores)
        self.read_only_names = tuple(read_only)
        self.is_global = is_global
        self.processor: AnyProcessor
        self._factory = factory
        self._fixed_key = fixed_key
        self._current: AnyRecord | None = None
        self._now_ms: int | None = None

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self.processor_context = NodeContext(self, context)

    @cached_property
    def kind(self) -> type[AnyProcessor]:
        """The class of the processors that the factory creates; calls the factory to find out if necessary."""
        factory: object = self._factory
        while isinstance(factory, partial):
            factory = factory.func
        return factory if isinstance(factory, type) else type(self._factory())

    def start(self) -> None:
        """Creates and initialises a new processor."""
        self.resume(self._create())
        self.processor.init(self.processor_context)

    def resume(self, processor: AnyProcessor) -> None:
        """Continues with a processor that is already initialised."""
        self.processor = processor
        self._fixed_key = self._fixed_key or isinstance(processor, FixedKeyProcessor)

    def process(self, record: AnyRecord) -> None:
        self._current, self._now_ms = record, record.timestamp_ms
        try:
            assert isinstance(self.processor, Processor | FixedKeyProcessor)
            self.processor.process(record)
        finally:
            self._current = self._now_ms = None

    def punctuate(self, callback: Callable[[int], object], clock_ms: int) -> None:
        self._now_ms = clock_ms
        try:
            callback(clock_ms)
        finally:
            self._now_ms = None

    def send(self, record: AnyRecord, to: To | None) -> None:
        """Forwards a record of the processor, to all children or to the one that `to` names (KIP-251).

        The timestamp is that of `to`, else the record's own, else that of the current record or punctuation.
        """
        if self._now_ms is None:
            message = f"{self.name}: forward() was called outside process() and punctuations; there is no record now."
            raise StreamsError(message)
        check_forward(self.name, record, to)
        if self._fixed_key and self._current is not None and record.key is not self._current.key:
            message = (
                f"{self.name} keeps the key: it was given {self._current.key!r} and may not forward {record.key!r}. "
                "Derive what is forwarded with with_value(), or use process() instead of process_values()."
            )
            raise StreamsError(message)
        record = with_forward_time(record, to, self._now_ms)
        if to is None or to.name is None:
            self.forward(record)
        else:
            child_of(self, to.name).process(record)

    def _create(self) -> AnyProcessor:
        processor = self._factory()
        if not isinstance(processor, self.kinds):
            kinds = " or a ".join(kind.__name__ for kind in self.kinds)
            message = (
                f"The factory of {self.name!r} returned {processor!r} of type {type(processor).__name__}; "
                f"it must return a {kinds}."
            )
            raise TopologyError(message)
        if not isinstance(self._factory, type) and self._factory() is processor:
            message = (
                f"The factory of {self.name!r} returned the same {type(processor).__name__} twice; "
                "every task needs a processor of its own. Create a new one each time."
            )
            raise TopologyError(message)
        return processor
