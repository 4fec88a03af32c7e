"""Passes settings to `spark-submit` in a file that only this user can read.

Every user of a machine can see its command lines, and settings may be secrets.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


@contextmanager
def submit_settings(settings: Mapping[str, str]) -> Iterator[None]:
    """Passes these settings to a JVM that pyspark starts inside the block. They override `spark-defaults.conf`.

    Settings in the user's own PYSPARK_SUBMIT_ARGS override both.
    """
    before = os.environ.get(_ARGUMENTS)
    descriptor, name = tempfile.mkstemp(prefix="headrace-settings-")  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{_escape(key)}={_escape(value)}\n" for key, value in settings.items())
        options = f"--properties-file {shlex.quote(name)} --load-spark-defaults"
        os.environ[_ARGUMENTS] = f"{options} {before or 'pyspark-shell'}"
        yield
    finally:
        if before is None:
            os.environ.pop(_ARGUMENTS, None)
        else:
            os.environ[_ARGUMENTS] = before
        Path(name).unlink()


def _escape(text: str) -> str:
    """Escapes a key or a value for a Java properties file: all characters but letters, digits and a few others."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[index : index + 2], "big") for index in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 and _is_plain(chr(code)) else f"\\u{code:04x}" for code in codes)


def _is_plain(letter: str) -> bool:
    return letter.isalnum() or letter in "-_./,"
