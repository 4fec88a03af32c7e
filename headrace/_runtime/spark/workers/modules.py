"""Modules that only the application can import: they are sent to Spark's workers with the plan."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import msgspec
from pyspark import cloudpickle

from headrace._runtime.spark.workers.search_path import add_to_search_path

_PACKAGE = str(Path(__file__).resolve().parents[3])
_INSTALLED = (_PACKAGE, sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"])


def send_with_plan(directory: Path) -> None:
    """Registers all modules loaded from a directory, except installed ones, to be pickled by value.

    Protobuf messages and `msgspec.Struct`s cannot be pickled by value. Workers import the modules of such classes by
    name: on this machine from the directory, which is added to PYTHONPATH; on a cluster the user must install them.
    """
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if (
            file
            and Path(file).is_relative_to(directory)
            and not file.startswith(_INSTALLED)
            and "-packages" not in file
        ):
            if _is_importable_from(directory, module, Path(file)) and _must_be_imported(module):
                continue
            cloudpickle.register_pickle_by_value(module)
    add_to_search_path(directory)


def _is_importable_from(directory: Path, module: ModuleType, file: Path) -> bool:
    path = directory.joinpath(*module.__name__.split("."))
    return file in (path.with_suffix(".py"), path / "__init__.py")


def _must_be_imported(module: ModuleType) -> bool:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]
    return any(issubclass(kind, msgspec.Struct) or hasattr(kind, "DESCRIPTOR") for kind in kinds)
