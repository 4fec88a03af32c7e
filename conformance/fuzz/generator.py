"""Random typed topologies: every operator the library has, called on what it may be called on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from conformance.fuzz.description import Case, Node, has_uneven_windows
from conformance.fuzz.functions import (
    AGGREGATORS,
    FLATTENERS,
    JOINERS,
    KEYED_JOINERS,
    MAPPER_KINDS,
    MAPPERS,
    PREDICATES,
    REDUCERS,
    SELECTORS,
)
from conformance.fuzz.growing import GrowingTopology
from conformance.fuzz.inputs import random_steps
from conformance.fuzz.options import (
    join_windows,
    maybe_store,
    maybe_window_store,
    suppression,
    window_options,
)

_MOST_STREAM_JOINS = 2
_PROCESSORS = ("later", "earlier", "rekey", "remember", "recent", "backwards", "tick_wall", "flush_wall", "tick_stream")
_TRANSFORMERS = ("nil_b", "shown", "remember")


def random_case(seed: int) -> Case:
    """The case of a seed, always the same."""
    rng = Random(seed)  # noqa: S311
    nodes = _Generator(rng).nodes()
    return Case(seed, tuple(nodes), tuple(random_steps(rng, nodes)))


class _Generator(GrowingTopology):
    """Adds operators at random, then gives every node a use."""

    def nodes(self) -> list[Node]:
        rng = self._rng
        for _ in range(rng.choice((1, 2, 2, 3))):
            self._source()
        for _ in range(rng.randint(1, 8)):
            rng.choices(self._steps, self._weights)[0]()
        for number in range(len(self._nodes)):
            if number not in self._used:
                self._finish(number)
        return [self._with_stream_time(node) for node in self._nodes]

    def _with_stream_time(self, node: Node) -> Node:
        """Replaces a processor with stream-time punctuation, unless all tasks must have the same stream time.

        Kafka's test driver runs all sub-topologies as one task with one stream time, unlike Kafka Streams itself.
        """
        if node.options.get("fn") != "tick_stream":
            return node
        topics = {topic for other in self._nodes for topic in other.options.get("topics", ())}
        others = [other for other in self._nodes if other.op.startswith("process") and other is not node]
        return node if len(topics) == 1 and not others else Node("process", node.inputs, {"fn": "remember"})

    @property
    def _steps(self) -> list[Callable[[], None]]:
        return [self._source, self._stateless, self._table, self._group, self._aggregate, self._join, self._sink]

    _weights = (2, 8, 6, 6, 8, 8, 1)

    def _stateless(self) -> None:
        rng = self._rng
        stream = self._pick("stream")
        if stream is None:
            return
        text = self._kinds[stream].key == "text"
        ops = ["filter", "filter_not", "map", "map_values", "flat_map", "flat_map_values", "select_key"]
        ops += ["peek", "merge", "split", "map_values_with_key", "flat_map_values_with_key"]
        ops += (
            ["repartition", "to_table", "to_table", "to_table", "process", "process", "process_values"] if text else []
        )
        op = rng.choice(ops)
        match op:
            case "filter" | "filter_not":
                self._add(op, stream, fn=rng.choice(list(PREDICATES)))
            case "map":
                self._add(op, stream, fn=rng.choice(list(SELECTORS)), mapper=rng.choice(list(MAPPERS)))
            case "map_values":
                self._add(op, stream, mapper=rng.choice(list(MAPPERS)))
            case "flat_map" | "flat_map_values" | "flat_map_values_with_key":
                self._add(op, stream, fn=rng.choice(list(FLATTENERS)))
            case "select_key":
                self._add(op, stream, fn=rng.choice(list(SELECTORS)))
            case "merge":
                kind = self._kinds[stream]
                other = self._pick("stream", key=kind.key, value=kind.value)
                if other is not None and other != stream:
                    self._add(op, stream, other)
            case "split":
                self._split(stream)
            case "to_table":
                self._add(op, stream, **maybe_store(rng))
            case "process":
                self._process(stream)
            case _:
                self._add(op, stream)

    def _split(self, stream: int) -> None:
        fns = self._rng.sample(list(PREDICATES), self._rng.choice((1, 2)))
        inside = [self._rng.choice(list(PREDICATES)) if self._rng.random() < 0.2 else None for _ in (*fns, "default")]
        split = self._add("split", stream, fns=fns, inside=inside)
        for branch in self._rng.sample(range(len(fns) + 1), self._rng.choice((1, 2))):
            self._add("branch", split, number=branch)

    def _process(self, stream: int) -> None:
        fn = self._rng.choice(_PROCESSORS)
        timed = fn in ("tick_wall", "flush_wall", "tick_stream")
        self._add("process", stream, fn=fn, interval=self._rng.choice((5, 10, 23)) if timed else None)

    def _table(self) -> None:
        rng = self._rng
        table = self._pick("table", "versioned table")
        if table is None:
            return
        text = self._kinds[table].key == "text"
        ops = ["filter", "filter_not", "map_values", "map_values_with_key", "to_stream", "transform_values"]
        op = rng.choice(ops if has_uneven_windows(self._nodes, table) else [*ops, "suppress"])
        stored = maybe_store(rng) if text else {}
        match op:
            case "filter" | "filter_not":
                self._add(op, table, fn=rng.choice(list(PREDICATES)), **stored)
            case "map_values":
                # In Java, a versioned table that names the serde of its values is no longer versioned.
                plain = self._kinds[table].shape == "table" or stored
                mappers = MAPPERS if plain else [name for name, kind in MAPPER_KINDS.items() if kind == "text"]
                self._add(op, table, mapper=rng.choice(list(mappers)), **stored)
            case "map_values_with_key":
                self._add(op, table, **stored)
            case "to_stream":
                self._add(op, table, fn=rng.choice(list(SELECTORS)) if rng.random() < 0.3 else None)
            case "transform_values":
                # Without a store, Kafka Streams calls the transformer for lookups and for old values, too.
                self._add(op, table, fn=rng.choice(_TRANSFORMERS) if stored else "nil_b", **stored)
            case "suppress":
                self._add(op, table, **suppression(rng, windowed=not text))
            case _:
                self._add(op, table)

    def _group(self) -> None:
        rng = self._rng
        number = self._pick("stream", "table", "versioned table")
        if number is None:
            return
        fn = rng.choice(list(SELECTORS))
        if self._kinds[number].is_table:
            self._add("group_by", number, fn=fn, mapper=rng.choice(list(MAPPERS)))
        elif self._kinds[number].key == "text" and rng.random() < 0.5:
            self._add("group_by_key", number)
        else:
            self._add("group_by", number, fn=fn)

    def _aggregate(self) -> None:
        rng = self._rng
        grouped = self._pick("grouped stream", "grouped table")
        if grouped is None:
            self._group()
            grouped = self._pick("grouped stream", "grouped table")
        if grouped is None:
            return
        kind = self._kinds[grouped]
        windows = None
        if kind.shape == "grouped stream" and rng.random() < 0.5:
            windows = window_options(rng)
        closing = windows is not None and windows["type"] not in ("unlimited", "own")
        emit = "close" if closing and rng.random() < 0.2 else None
        stored = maybe_window_store(rng) if windows else maybe_store(rng)
        others = [n for n, k in enumerate(self._kinds) if k.shape == "grouped stream" and n != grouped]
        if kind.shape == "grouped stream" and rng.random() < 0.25:
            chosen = rng.sample(others, min(len(others), rng.choice((0, 1, 1, 2))))
            self._add("cogroup", grouped, *chosen, fn=rng.choice(list(AGGREGATORS)), windows=windows, **stored)
            return
        match rng.choice(("count", "reduce", "aggregate")):
            case "count":
                self._add("count", grouped, windows=windows, emit=emit, **stored)
            case "reduce":
                fitting = [name for name, reducer in REDUCERS.items() if reducer.kind == kind.value]
                self._add("reduce", grouped, fn=rng.choice(fitting), windows=windows, emit=emit, **stored)
            case _:
                fn = rng.choice(list(AGGREGATORS))
                self._add("aggregate", grouped, fn=fn, windows=windows, emit=emit, **stored)

    def _join(self) -> None:
        rng = self._rng
        left = self._pick("stream", "table", "versioned table")
        if left is None:
            return
        joiner = "pair" if rng.random() < 0.7 else rng.choice([*JOINERS, *KEYED_JOINERS])
        stored = {} if joiner in KEYED_JOINERS else maybe_store(rng)
        if self._kinds[left].key == "windowed":
            right = self._pick("table", key="windowed")
            if right is not None and self._kinds[left].is_table:
                self._add(rng.choice(("join", "left_join", "outer_join")), left, right, joiner=joiner)
            return
        if self._kinds[left].is_table:
            right = self._pick("table", "versioned table", key="text")
            if right is None or (right == left and rng.random() < 0.7):
                return
            if rng.random() < 0.4:
                fn = rng.choice(list(SELECTORS))
                op = rng.choice(("foreign_join", "foreign_left_join"))
                self._add(op, left, right, joiner=joiner, fn=fn, **stored)
            else:
                op = rng.choice(("join", "left_join", "outer_join"))
                self._add(op, left, right, joiner=joiner, **stored)
            return
        right = self._pick("stream", "table", "versioned table", "global table", key="text")
        if right is None:
            return
        match self._kinds[right].shape:
            case "stream":
                # Joins of joins of a stream with itself would write millions of records.
                if sum("difference" in node.options for node in self._nodes) < _MOST_STREAM_JOINS:
                    op = rng.choice(("join", "left_join", "outer_join"))
                    self._add(op, left, right, joiner=joiner, **join_windows(rng))
            case "global table":
                fn = rng.choice(list(SELECTORS))
                self._add(rng.choice(("join", "left_join")), left, right, joiner=joiner, fn=fn)
            case shape:
                grace = rng.choice((0, 3, 10)) if shape == "versioned table" and rng.random() < 0.5 else None
                self._add(rng.choice(("join", "left_join")), left, right, joiner=joiner, grace=grace)

    def _finish(self, number: int) -> None:
        """Gives an unused node a use: what is not written cannot be compared."""
        match self._kinds[number].shape:
            case "stream" | "table" | "versioned table":
                self._to(number)
            case "grouped stream" | "grouped table":
                self._to(self._add("count", number))
