"""What a processor may forward, to which child, and with which timestamp (KIP-251)."""

from __future__ import annotations

from headrace._core.operator import AnyRecord, Operator
from headrace.errors import StreamsError, known_names, nearest
from headrace.model.record import Record
from headrace.model.routing import To


def check_forward(name: str, record: object, to: object) -> None:
    """Checks the arguments of `forward()`.

    Raises:
        StreamsError: if an argument is not allowed; the message begins with `name`.
    """
    if not isinstance(record, Record):
        message = f"{name}: forward() needs a Record; got {record!r} of type {type(record).__name__}."
        raise StreamsError(message)
    if to is not None and not isinstance(to, To):
        message = f"{name}: forward() was given to={to!r}; it must be To.child(name) or To.all()."
        raise StreamsError(message)


def with_forward_time(record: AnyRecord, to: To | None, now_ms: int | None) -> AnyRecord:
    """Returns the record with the timestamp that children see: that of `to`, else the record's own, else `now_ms`."""
    timestamp_ms = to.timestamp_ms if to is not None and to.timestamp_ms is not None else record.timestamp_ms
    if timestamp_ms is None:
        timestamp_ms = now_ms
    if timestamp_ms == record.timestamp_ms:
        return record
    return Record(record.key, record.value, timestamp_ms, record.headers)


def child_of(operator: Operator, name: str) -> Operator:
    """The child with the name that `To.child` gives.

    Raises:
        StreamsError: if there is none; the message lists the children.
    """
    for child in operator.children:
        if child.name == name:
            return child
    known = [child.name for child in operator.children]
    message = (
        f"{operator.name}: the child {name!r} is unknown or not connected.{nearest(name, known)} "
        f"Its children: {known_names(known)}."
    )
    raise StreamsError(message)
