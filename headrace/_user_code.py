"""Finds the line of the user's code in the traceback of an error, past the frames of Headrace and other libraries."""

from __future__ import annotations

import linecache
import os
import site
import sysconfig
import traceback
from pathlib import Path
from types import FrameType, TracebackType

_PACKAGE = Path(__file__).resolve().parent
# Functions of the demos count as user code.
_DEMOS = str(_PACKAGE / "cli" / "demos")
_LIBRARIES = tuple(f"{path}{os.sep}" for path in (_PACKAGE, sysconfig.get_paths()["stdlib"], *site.getsitepackages()))


def user_line(trace: TracebackType | None) -> str | None:
    """Returns the innermost line of the user's code as `file:line in function: source`; `None` if there is none."""
    frames = [(frame, number) for frame, number in traceback.walk_tb(trace) if _is_user_code(frame)]
    if not frames:
        return None
    frame, number = frames[-1]
    code = frame.f_code
    function = "" if code.co_name == "<module>" else f" in {code.co_name}"
    source = linecache.getline(code.co_filename, number).strip()
    return f"{code.co_filename}:{number}{function}" + (f": {source}" if source else "")


def _is_user_code(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    if path == "<string>":
        # Generated code, such as the constructor of a dataclass, belongs to a module with a file; `python -c` has none.
        return "__file__" not in frame.f_globals
    return path.startswith(_DEMOS) or not path.startswith((*_LIBRARIES, "<frozen"))
