"""The stores that processors and their factories declare themselves, by a method `stores()` (KIP-401)."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import partial
from typing import Any

from headrace.errors import TopologyError
from headrace.model.processor import FixedKeyProcessor, Processor
from headrace.model.stores.specs import StoreSpec


def own_stores(factory: Any, operation: str) -> tuple[StoreSpec, ...]:
    """The stores that a factory declares with `stores()`, or those of its processor; errors begin with `operation`.

    To ask its processor, a factory is called once. This is not needed if the factory is a class whose `stores` is a
    class method or a static method.
    """
    maker = factory
    while isinstance(maker, partial):
        maker = maker.func
    if isinstance(maker, type):
        declared = inspect.getattr_static(maker, "stores", None)
        if isinstance(declared, classmethod | staticmethod):
            return _checked(maker, operation)
        return () if declared in (None, *_DEFAULTS) else _checked(_create(factory, operation), operation)
    if callable(getattr(factory, "stores", None)):
        return _checked(factory, operation)
    processor = _create(factory, operation)
    return _checked(processor, operation) if callable(getattr(processor, "stores", None)) else ()


_DEFAULTS = (Processor.stores, FixedKeyProcessor.stores)


def _create(factory: Any, operation: str) -> Any:
    try:
        return factory()
    except Exception as error:
        message = (
            f"{operation} calls its factory for the stores of its processors, and {factory!r} failed with "
            f"{type(error).__name__}: {error}. Let it create a processor without further conditions; a connection or a "
            "file is opened in init()."
        )
        raise TopologyError(message) from error


def _checked(provider: Any, operation: str) -> tuple[StoreSpec, ...]:
    listed = provider.stores()
    stores = tuple(listed) if isinstance(listed, Iterable) and not isinstance(listed, str) else (listed,)
    for store in stores:
        if not isinstance(store, StoreSpec):
            message = (
                f"{operation}: stores() of {provider!r} returned {listed!r}; it must return a list of store specs, "
                "e.g. [Stores.key_value(...)]."
            )
            raise TopologyError(message)
    return stores
