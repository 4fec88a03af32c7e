"""To be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace._joins.options import Join
from headrace.errors import TopologyError

if TYPE_CHECKING:
    from headrace.kstream import KStream
    from headrace.ktable import KTable


def join_stream_table(left: KStream[Any, Any], right: KTable[Any, Any], join: Join) -> KStream[Any, Any]:
    message = f"{join.operation}() of {left!r} and {right!r} is not there yet."
    raise TopologyError(message)
