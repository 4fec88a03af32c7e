"""Modules that only the application can import: Spark sends them to its workers with the program."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import msgspec
from pyspark import cloudpickle

_PACKAGE = str(Path(__file__).resolve().parents[3])
_INSTALLED = (_PACKAGE, sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"])


def send_with_program(home: Path) -> None:
    """Has all modules loaded from files below a directory pickled by value, installed ones excepted.

    Modules whose classes cannot be, Protobuf messages and `msgspec.Struct`s, are imported by name from that directory,
    which Spark's workers on this machine are told of; a cluster must be given them.
    """
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and Path(file).is_relative_to(home) and not file.startswith(_INSTALLED) and "-packages" not in file:
            if _is_found_by_name(module, Path(file), home) and _must_be_imported(module):
                continue
            cloudpickle.register_pickle_by_value(module)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(home), os.environ.get("PYTHONPATH")]))


def _is_found_by_name(module: ModuleType, file: Path, home: Path) -> bool:
    place = home.joinpath(*module.__name__.split("."))
    return file in (place.with_suffix(".py"), place / "__init__.py")


def _must_be_imported(module: ModuleType) -> bool:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    return any(issubclass(kind, msgspec.Struct) or hasattr(kind, "DESCRIPTOR") for kind in kinds)
