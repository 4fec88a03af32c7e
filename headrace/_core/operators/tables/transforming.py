"""transform_values of a table: a transformer of the user's own computes the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from headrace._core.operator import AnyRecord
from headrace._core.operators.processors.processor import UserProcessor
from headrace._core.operators.tables.stored import StoredTable
from headrace.errors import StreamsError
from headrace.model.processor import AnyProcessor, ProcessorFactory, ValueTransformerWithKey
from headrace.model.routing import To


class TableTransformValues(UserProcessor, StoredTable):
    """Transforms the new value of every change, `None` too.

    With a store, the old value is read from the store. Without one the transformer is called for the old value as well,
    after the new one, as in Kafka Streams.
    """

    kinds: ClassVar[tuple[type[AnyProcessor], ...]] = (ValueTransformerWithKey,)

    def __init__(
        self,
        name: str,
        store: str | None,
        factory: ProcessorFactory,
        stores: Sequence[str],
        tables: Sequence[str],
        *,
        send_old_values: bool,
    ) -> None:
        super().__init__(
            name, factory, [other for other in stores if other != store], tables, fixed_key=True, is_global=False
        )
        self.store_name = store
        self.send_old_values = send_old_values

    def process(self, record: AnyRecord) -> None:
        key, change = record.key, record.value
        new = self._transform(key, change.new)
        old = None
        if self.send_old_values:
            old = self._transform(key, change.old) if self._store is None else self.stored_value(key)
        self.forward_change(record, new, old)

    def send(self, record: AnyRecord, to: To | None) -> None:  # noqa: ARG002
        """Refuses to forward: the only result of a transformer is the value it returns."""
        message = (
            f"{self.name}: forward() was called with {record!r}, but a transformer forwards no records. Return the new "
            "value from transform(), or use to_stream().process() to forward records."
        )
        raise StreamsError(message)

    def _transform(self, key: Any, value: Any) -> Any:
        assert isinstance(self.processor, ValueTransformerWithKey)
        return self.processor.transform(key, value)
