"""To be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace._joins.options import Join
from headrace.errors import TopologyError

if TYPE_CHECKING:
    from headrace.ktable import KTable


def join_tables(left: KTable[Any, Any], right: KTable[Any, Any], join: Join) -> KTable[Any, Any]:
    message = f"{join.operation}() of {left!r} and {right!r} is not there yet."
    raise TopologyError(message)
