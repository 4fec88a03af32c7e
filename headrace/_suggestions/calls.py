"""Properties that are called like methods, as in Java: `context.task_id()`. The error says to drop the parentheses."""

from __future__ import annotations

import linecache
import re
from itertools import islice
from types import TracebackType

from headrace.errors import text_of

_CALL = re.compile(r"(.*\w)\s*\(\s*\)")


def call_suggestion(error: BaseException) -> str:
    """Advice to append to the text of an error, if a property was called like a method; else empty."""
    if type(error) is not TypeError or not text_of(error).endswith("object is not callable"):
        return ""
    call = _CALL.fullmatch(_failed_source(error.__traceback__))
    return "" if call is None else f". Write {call[1]} without parentheses: it is not a method"


def _failed_source(trace: TracebackType | None) -> str:
    """The source of the expression that raised; empty if it is unknown, or on several lines."""
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    first, last, start, end = next(islice(code.co_positions(), trace.tb_lasti // 2, None))
    if first is None or first != last or start is None:
        return ""
    return linecache.getline(code.co_filename, first).encode()[start:end].decode(errors="replace")
