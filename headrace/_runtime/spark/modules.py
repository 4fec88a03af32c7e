"""Modules that only the application can import: Spark sends them to its workers with the program."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from pyspark import cloudpickle

_PACKAGE = str(Path(__file__).resolve().parents[2])
_INSTALLED = (_PACKAGE, sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"])


def send_with_program(home: Path) -> None:
    """Has all modules loaded from files below a directory pickled by value, installed ones excepted."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and Path(file).is_relative_to(home) and not file.startswith(_INSTALLED) and "-packages" not in file:
            cloudpickle.register_pickle_by_value(module)
