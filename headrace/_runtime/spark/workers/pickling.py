"""Pickling for Spark's workers: cloudpickle, with support for dataclasses that serdes use.

Classes that workers cannot import are pickled by value: those of the main script, of a notebook, or of the file that
`headrace run` runs.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
import sys
import typing
from typing import Any

import msgspec
from pyspark import cloudpickle


class Pickler(cloudpickle.Pickler):
    """Pickles dataclasses so that serdes on workers can use them.

    Raises a `PicklingError` for a `msgspec.Struct` that workers cannot import: it cannot be pickled by value.
    """

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)

    def reducer_override(self, thing: Any) -> Any:
        if thing is dataclasses.MISSING:
            return "MISSING"  # by name: a copy would pass for a default, and required fields would be optional
        if isinstance(thing, type) and _is_pickled_by_value(thing):
            if issubclass(thing, msgspec.Struct):
                message = (
                    f"{thing.__qualname__} is a msgspec.Struct of {thing.__module__!r}, which Spark's workers cannot "
                    "import. Define it in a module that they can import, or make it a dataclass"
                )
                raise pickle.PicklingError(message)
            if dataclasses.is_dataclass(thing):
                _make_portable(thing)
        return super().reducer_override(thing)


def dumps(thing: object) -> bytes:
    file = io.BytesIO()
    Pickler(file).dump(thing)
    return file.getvalue()


def _is_pickled_by_value(kind: type) -> bool:
    module = kind.__module__
    if module == "__main__" or module not in sys.modules or "<locals>" in kind.__qualname__:
        return True
    return any(module == sent or module.startswith(f"{sent}.") for sent in cloudpickle.list_registry_pickle_by_value())


def _make_portable(kind: type) -> None:
    """Removes msgspec's cache from a dataclass, and resolves annotations that the worker could not resolve by name."""
    if "__msgspec_cache__" in vars(kind):
        del kind.__msgspec_cache__  # type: ignore[attr-defined]
    own = vars(kind).get("__annotations__", {})
    if any(isinstance(annotation, str) for annotation in own.values()):
        try:
            hints = typing.get_type_hints(kind, include_extras=True)
        except NameError:  # a name that only type checkers import: no serde uses such a class
            return
        kind.__annotations__ = {name: hints[name] for name in own}
