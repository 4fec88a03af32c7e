"""To be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace._joins.options import Join
from headrace.errors import TopologyError

if TYPE_CHECKING:
    from headrace.kstream import KStream


def join_streams(left: KStream[Any, Any], right: KStream[Any, Any], join: Join) -> KStream[Any, Any]:
    message = f"{join.operation}() of {left!r} and {right!r} is not there yet."
    raise TopologyError(message)
