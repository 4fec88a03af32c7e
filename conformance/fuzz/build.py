"""Builds a described topology with Headrace, node by node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import headrace as hr
from conformance.fuzz.aggregations import aggregated, cogrouped
from conformance.fuzz.description import Case, Kind, Node, kinds
from conformance.fuzz.functions import (
    EXTRACTORS,
    FLATTENERS,
    JOINERS,
    KEYED_JOINERS,
    MAPPERS,
    PREDICATES,
    SELECTORS,
    head,
    size,
)
from conformance.fuzz.processors import Agent, Transformer, ValueAgent, store_of
from conformance.fuzz.windows import ms, suppression_of
from headrace import serdes

_EXTRACTORS: dict[str, Any] = {
    name: (lambda record, time_ms, extract=extract: extract(record.value, record.timestamp_ms, time_ms))
    for name, extract in EXTRACTORS.items()
}
_SERDES: dict[str, Any] = {"text": serdes.String(), "number": serdes.Long(), "windowed": None}


def topology_of(case: Case) -> hr.Topology:
    """The topology of a case.

    Raises:
        StreamsError: if the library refuses it.
    """
    builder = hr.StreamsBuilder()
    built: list[Any] = []
    known = kinds(case.nodes)
    for number, node in enumerate(case.nodes):
        inputs = [built[position] for position in node.inputs]
        build = _Build(builder, node, number, known[number], [known[position] for position in node.inputs])
        built.append(build.result(*inputs))
    return builder.build()


class _Build:
    """One node on its way into the topology."""

    def __init__(self, builder: hr.StreamsBuilder, node: Node, number: int, kind: Kind, given: list[Kind]) -> None:
        self._builder = builder
        self._node = node
        self._op = node.op
        self._options = node.options
        self._number = number
        self._kind = kind
        self._given = given

    def result(self, *inputs: Any) -> Any:
        op = self._op
        if op in ("stream", "table", "global_table"):
            return self._source()
        if op in ("count", "reduce", "aggregate"):
            of_table = self._given[0].shape == "grouped table"
            return aggregated(inputs[0], self._node, self._row_options, of_table=of_table)
        if op == "cogroup":
            return cogrouped(inputs, self._node, self._row_options)
        if op.endswith("join"):
            return self._join(*inputs)
        if op == "to":
            return self._to(inputs[0])
        return (self._of_table if self._given[0].is_table else self._of_stream)(*inputs)

    def _source(self) -> Any:
        topics = self._options["topics"]
        text = {"key_serde": _SERDES["text"], "value_serde": _SERDES["text"]}
        if "extractor" in self._options:
            text["timestamp_extractor"] = _EXTRACTORS[self._options["extractor"]]
        if self._op == "stream":
            return self._builder.stream(topics, **text)
        if self._op == "global_table":
            return self._builder.global_table(topics[0], **text)
        return self._builder.table(topics[0], **text, **self._store())

    def _to(self, given: Any) -> None:
        stream = given.to_stream() if self._given[0].is_table else given
        keys = Shown() if self._given[0].key == "windowed" else _SERDES["text"]
        topic = TopicBySize(self._number) if "fn" in self._options else f"out{self._number}"
        stream.to(topic, key_serde=keys, value_serde=_SERDES[self._given[0].value])

    def _of_stream(self, stream: Any, *others: Any) -> Any:
        fn = self._options.get("fn", "")
        match self._op:
            case "filter" | "filter_not":
                return getattr(stream, self._op)(PREDICATES[fn])
            case "map":
                select, mapper = SELECTORS[fn], self._mapper
                return stream.map(lambda key, value: (select(key, value), mapper(value)))
            case "flat_map":
                return stream.flat_map(lambda _, value: [(head(text), text) for text in FLATTENERS[fn](value)])
            case "select_key":
                return stream.select_key(SELECTORS[fn], key_serde=_SERDES["text"])
            case "peek":
                return stream.peek(lambda _, __: None)
            case "merge":
                return stream.merge(others[0])
            case "split":
                return self._split(stream)
            case "branch":
                return stream[str(self._options["number"])]
        return (self._of_values if "values" in self._op else self._of_keyed_stream)(stream, fn)

    def _of_values(self, stream: Any, fn: str) -> Any:
        """Operators that leave keys as they are."""
        pair = JOINERS["pair"]
        match self._op:
            case "map_values":
                return stream.map_values(self._mapper)
            case "map_values_with_key":
                return stream.map_values_with_key(pair)
            case "flat_map_values":
                return stream.flat_map_values(FLATTENERS[fn])
            case "flat_map_values_with_key":
                return stream.flat_map_values_with_key(
                    lambda key, value: [pair(key, text) for text in FLATTENERS[fn](value)]
                )
            case "process_values":
                store = f"agent{self._number}"
                return stream.process_values(partial(ValueAgent, store), stores=[store_of(fn, store)])
        raise ValueError(self._op)

    def _of_keyed_stream(self, stream: Any, fn: str) -> Any:
        """Operators that need to know how keys become bytes."""
        match self._op:
            case "through":
                stream.to(f"through{self._number}", **self._serdes)
                return self._builder.stream(f"through{self._number}", **self._serdes)
            case "repartition":
                return stream.repartition(f"r{self._number}", **self._serdes)
            case "to_table":
                return stream.to_table(**self._serdes, **self._store())
            case "process":
                store = f"agent{self._number}"
                agent = partial(Agent, fn, store, self._options.get("interval", 0))
                return stream.process(agent, stores=[store_of(fn, store)])
            case "group_by_key":
                return stream.group_by_key(**self._serdes, name=f"g{self._number}")
            case "group_by":
                return stream.group_by(SELECTORS[fn], **self._serdes, name=f"g{self._number}")
        raise ValueError(self._op)

    def _of_table(self, table: Any) -> Any:
        fn = self._options.get("fn", "")
        match self._op:
            case "filter" | "filter_not":
                return getattr(table, self._op)(PREDICATES[fn], **self._store())
            case "map_values":
                return table.map_values(self._mapper, value_serde=_SERDES[self._kind.value], **self._store())
            case "map_values_with_key":
                return table.map_values_with_key(JOINERS["pair"], value_serde=_SERDES["text"], **self._store())
            case "to_stream":
                return table.to_stream(SELECTORS[fn], key_serde=_SERDES["text"]) if fn else table.to_stream()
            case "transform_values":
                store = f"agent{self._number}"
                stores = [store_of(fn, store)] if fn == "remember" else []
                transformer = partial(Transformer, fn, store)
                return table.transform_values(transformer, stores=stores, value_serde=_SERDES["text"], **self._store())
            case "suppress":
                return table.suppress(suppression_of(self._options))
            case "group_by":
                select, mapper = SELECTORS[fn], self._mapper
                return table.group_by(
                    lambda key, value: (select(key, value), mapper(value)), **self._serdes, name=f"g{self._number}"
                )
        raise ValueError(self._op)

    def _split(self, stream: Any) -> Any:
        branches = stream.split(name=f"split{self._number}-")
        inside = [fn and _filtered(fn) for fn in self._options["inside"]]
        for branch, fn in enumerate(self._options["fns"]):
            branches = branches.branch(PREDICATES[fn], name=str(branch), function=inside[branch])
        return branches.default(name=str(len(self._options["fns"])), function=inside[-1])

    def _join(self, left: Any, right: Any) -> Any:
        joiner = {**JOINERS, **KEYED_JOINERS}[self._options["joiner"]]
        method = getattr(left, self._op.removeprefix("foreign_"))
        if self._given[0].is_table:
            options = {"value_serde": _SERDES["text"], **self._store()}
            if self._op.startswith("foreign_"):
                options["foreign_key"] = SELECTORS[self._options["fn"]]
            return method(right, joiner, **options)
        if self._given[1].shape == "global table":
            return method(right, joiner, key_selector=SELECTORS[self._options["fn"]])
        options = {"key_serde": _SERDES["text"], "value_serde": _SERDES[self._given[0].value]}
        if self._given[1].is_table:
            grace = {"grace": ms(self._options["grace"])} if "grace" in self._options else {}
            return method(right, joiner, **options, **grace)
        durations = {name: ms(self._options[name]) for name in ("before", "after", "grace") if name in self._options}
        within = hr.JoinWindows.of(ms(self._options["difference"]), **durations)
        return method(right, joiner, **options, other_value_serde=_SERDES[self._given[1].value], within=within)

    def _store(self) -> dict[str, Any]:
        name = f"s{self._number}"
        if "history" in self._options:
            serdes_of_rows = {"key_serde": _SERDES["text"], "value_serde": _SERDES[self._kind.value]}
            return {
                "store": hr.Stores.versioned_key_value(name, history=ms(self._options["history"]), **serdes_of_rows)
            }
        return {"store": name} if "store" in self._options else {}

    @property
    def _row_options(self) -> dict[str, Any]:
        return {"value_serde": _SERDES[self._kind.value], **self._store()}

    @property
    def _mapper(self) -> Callable[[Any], Any]:
        return MAPPERS[self._options["mapper"]]

    @property
    def _serdes(self) -> dict[str, Any]:
        return {"key_serde": _SERDES[self._kind.key], "value_serde": _SERDES[self._kind.value]}


class Shown(serdes.Serde[Any]):
    """Writes a windowed key as text, with the end of its window, which Kafka's own formats leave out."""

    def _to_bytes(self, value: Any) -> bytes:
        return str(value).encode()

    def _from_bytes(self, data: bytes) -> Any:
        return data.decode()


class TopicBySize:
    """Chooses one of the two output topics of a node."""

    def __init__(self, number: int) -> None:
        self.topics = [f"out{number}-0", f"out{number}-1"]

    def __call__(self, key: Any, value: Any, context: Any) -> str:  # noqa: ARG002
        return self.topics[size(value) % 2]


def _filtered(fn: str) -> Callable[[Any], Any]:
    """What a branch of a split becomes."""
    return lambda stream: stream.filter(PREDICATES[fn])
