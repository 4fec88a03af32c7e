"""A topology that grows node by node: its sources, its sinks, and how an operator finds what it can be called on."""

from __future__ import annotations

from random import Random

from conformance.fuzz.description import Kind, Node, kind_of
from conformance.fuzz.functions import EXTRACTORS
from conformance.fuzz.options import maybe_store

_STREAM_TOPICS = ("a", "b")
_TABLE_TOPICS = ("t", "u")


class GrowingTopology:
    """The nodes so far, their kinds, and which of them are used."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._nodes: list[Node] = []
        self._kinds: list[Kind] = []
        self._used: set[int] = set()
        # One per topic: two sources of a topic are one source.
        self._extractors = {
            topic: rng.choice(list(EXTRACTORS)) for topic in (*_STREAM_TOPICS, *_TABLE_TOPICS) if rng.random() < 0.04
        }

    def _add(self, op: str, *inputs: int, **options: object) -> int:
        node = Node(op, inputs, {name: value for name, value in options.items() if value is not None})
        self._nodes.append(node)
        self._kinds.append(kind_of(node, [self._kinds[number] for number in inputs]))
        self._used.update(inputs)
        return len(self._nodes) - 1

    def _pick(self, *shapes: str, key: str | None = None, value: str | None = None) -> int | None:
        """A random node of one of the shapes, preferably one that nothing uses yet; `None` if there is no such node."""
        fitting = [
            number
            for number, kind in enumerate(self._kinds)
            if kind.shape in shapes and key in (None, kind.key) and value in (None, kind.value)
        ]
        fresh = [number for number in fitting if number not in self._used]
        if not fitting:
            return None
        return self._rng.choice(fresh if fresh and self._rng.random() < 0.7 else fitting)

    def _source(self) -> None:
        rng = self._rng
        topics = {topic for node in self._nodes for topic in node.options.get("topics", ())}
        match rng.choices(("stream", "table", "versioned", "global"), (5, 5, 1, 1))[0]:
            case "stream":
                chosen = list(_STREAM_TOPICS) if rng.random() < 0.08 else [rng.choice(_STREAM_TOPICS)]
                self._add("stream", topics=chosen, extractor=self._extractors.get(chosen[0]))
            case "global" if "g" not in topics and self._nodes:
                self._add("global_table", topics=["g"])
            case kind:
                free = [topic for topic in _TABLE_TOPICS if topic not in topics]
                if free:
                    history = rng.choice((5, 20, 100)) if kind == "versioned" else None
                    stored = {"history": history} if history else maybe_store(rng)
                    topic = rng.choice(free)
                    self._add("table", topics=[topic], **stored, extractor=self._extractors.get(topic))

    def _sink(self) -> None:
        number = self._pick("stream", "table", "versioned table")
        if number is not None:
            self._to(number)

    def _to(self, number: int) -> None:
        self._add("to", number, fn="by_size" if self._rng.random() < 0.1 else None)
