"""Adds stores that the user's own processor maintains from a topic: global stores and read-only stores."""

from __future__ import annotations

from headrace._graph.declared_stores import own_stores
from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Process, Source
from headrace.errors import TopologyError
from headrace.model.arguments import checked_factory
from headrace.model.processor import ProcessorFactory
from headrace.model.stores.specs import StoreSpec


def add_store_of_topic(
    graph: GraphBuilder, store: StoreSpec, source: Source, processor: str, factory: ProcessorFactory, operation: str
) -> None:
    """Adds a source, the processor that gets its records, and the store that the processor maintains.

    If the source is global, so is the store. Otherwise the store is partitioned like the topic, and other processors
    that use it can only read it.
    """
    if not isinstance(store, StoreSpec):
        message = f"{operation} was given the store {store!r}; it takes a store spec, e.g. Stores.key_value(...)."
        raise TopologyError(message)
    checked_factory(factory, operation)
    others = [other.name for other in own_stores(factory, operation) if other != store]
    if others:
        message = (
            f"{operation}: the processor declares the stores {others}; the processor that maintains a store from a "
            f"topic can use only that store, {store.name!r}."
        )
        raise TopologyError(message)
    graph.add(source)
    graph.add_store(store)
    graph.add(
        Process(
            name=processor,
            parents=(source.name,),
            stores=(store.name,),
            factory=factory,
            is_global=source.is_global,
            maintains=None if source.is_global else store.name,
        )
    )
