"""A topology as SVG: topics, nodes, and a frame for each sub-topology. Records flow downwards."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from headrace._graph.drawing import shapes
from headrace._graph.drawing.layout import Box, Drawing, Point, depths, layered, spread
from headrace._graph.drawing.style import PICTURE, STANDALONE, palette
from headrace._graph.graph import Graph, SubTopology
from headrace._graph.nodes import Sink, Source

_MARGIN = 24.0
_FRAME = 22.0
_FRAME_TITLE = 20.0
_FRAME_WIDTH = 250.0
_LEVEL_GAP = 40.0
_STANDALONE_SCALE = 0.85


def svg(graph: Graph) -> str:
    """The picture of a graph, to be styled by the page around it."""
    return _Picture(graph).svg()


def standalone_svg(graph: Graph) -> str:
    """The picture of a graph with its own style and background: for a file, or in a notebook."""
    return _Picture(graph).svg(f"<style>{palette('.headrace')}{PICTURE}{STANDALONE}</style>")


class _Picture:
    """Draws a graph. A sub-topology is below those whose topics it reads, and topics are between them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: dict[str, Box] = {}
        self._topics: dict[str, Box] = {}
        self._frames: list[tuple[SubTopology, Box]] = []
        self._bends: dict[tuple[str, str], list[Point]] = {}
        self._sinks: dict[str, list[str]] = {}
        self._sources: dict[str, list[str]] = {}
        for node in graph.nodes:
            if isinstance(node, Sink):
                self._sinks.setdefault(node.topic, []).append(node.name)
            if isinstance(node, Source):
                for topic in node.shown_topics:
                    self._sources.setdefault(topic, []).append(node.name)
        self._sub_topology_of = {node.name: sub.number for sub in graph.sub_topologies for node in sub.nodes}
        self._internal = {node.topic for node in graph.nodes if isinstance(node, Sink) and node.internal}
        self._looped: dict[str, str] = {}
        self._place_all()

    def svg(self, style: str = "") -> str:
        everything = [box for _, box in self._frames] + list(self._topics.values())
        left = min(box.x - box.width / 2 for box in everything) - _MARGIN
        width = max(box.x + box.width / 2 for box in everything) + _MARGIN - left
        height = max(box.y + box.height / 2 for box in everything) + _MARGIN
        names = {key: topic for topic, key in self._looped.items()}
        parts = [style, shapes.background(left, width, height)] if style else []
        parts += [shapes.frame(_frame_title(sub), box) for sub, box in self._frames]
        parts += self._edges()
        parts += [shapes.node(node, self._nodes[node.name]) for node in self._graph.nodes]
        for key, box in self._topics.items():
            topic = names.get(key, key)
            parts.append(shapes.topic(topic, box, internal=topic in self._internal))
        return shapes.drawing(left, width, height, parts, scale=_STANDALONE_SCALE if style else 1)

    def _place_all(self) -> None:
        subs = self._graph.sub_topologies
        between = [
            (self._sub_topology_of[writer], self._sub_topology_of[reader])
            for topic, writers in self._sinks.items()
            for writer in writers
            for reader in self._sources.get(topic, ())
        ]
        level = depths([sub.number for sub in subs], [(upper, lower) for upper, lower in between if upper != lower])
        row = {topic: level[self._sub_topology_of[writers[0]]] + 1 for topic, writers in self._sinks.items()}
        for topic, readers in self._sources.items():
            at = level[self._sub_topology_of[readers[0]]]
            if at < row.get(topic, 0) and not self._fed_back(topic):
                self._looped[topic] = f"{topic} again"
            row[self._read_as(topic)] = row.get(self._read_as(topic), at)
        top = _MARGIN
        for number in range(max(level.values()) + 2):
            topics = [topic for topic in row if row[topic] == number and not self._fed_back(topic)]
            below = top + (shapes.TOPIC_HEIGHT + _LEVEL_GAP if topics else 0)
            self._place_topics([topic for topic in topics if topic in self._sinks], top)
            bottom = self._place_frames([sub for sub in subs if level[sub.number] == number], below)
            self._place_topics(topics, top)
            top = bottom + _LEVEL_GAP

    def _fed_back(self, topic: str) -> bool:
        """Whether a topic is a repartition within one sub-topology: then it is drawn among the nodes."""
        users = [*self._sinks.get(topic, ()), *self._sources.get(topic, ())]
        return topic in self._internal and len({self._sub_topology_of[name] for name in users}) == 1

    def _read_as(self, topic: str) -> str:
        """The key of a topic as its readers see it: a topic that is written below them is drawn again, above them."""
        return self._looped.get(topic, topic)

    def _place_topics(self, topics: list[str], top: float) -> None:
        """Places topics near those of their readers or writers that already have a position."""
        near = {topic: [self._nodes[name].x for name in self._users(topic) if name in self._nodes] for topic in topics}
        order = sorted(topics, key=lambda topic: fmean(near[topic] or [0.0]))
        sizes = [shapes.topic_size(topic.removesuffix(" again")) for topic in order]
        places = spread([fmean(near[topic] or [0.0]) for topic in order], [width for width, _ in sizes])
        for topic, x, size in zip(order, places, sizes, strict=True):
            self._topics[topic] = Box(x, top + size[1] / 2, *size)

    def _users(self, key: str) -> list[str]:
        read = {self._read_as(topic): names for topic, names in self._sources.items()}
        return self._sinks.get(key) or read.get(key, [])

    def _place_frames(self, subs: list[SubTopology], top: float) -> float:
        drawings = [self._drawn(sub) for sub in subs]
        wanted = [self._wanted(sub, drawing) for sub, drawing in zip(subs, drawings, strict=True)]
        order = sorted(range(len(subs)), key=lambda index: wanted[index])
        widths = [max(_FRAME_WIDTH, drawing.width + 2 * _FRAME) for drawing in drawings]
        places = spread([wanted[i] for i in order], [widths[i] for i in order], gap=_LEVEL_GAP)
        bottom = top
        for index, x in zip(order, places, strict=True):
            drawing = drawings[index]
            height = drawing.height + 2 * _FRAME + _FRAME_TITLE
            self._frames.append((subs[index], Box(x, top + height / 2, widths[index], height)))
            self._take(drawing, x - drawing.width / 2, top + _FRAME + _FRAME_TITLE)
            bottom = max(bottom, top + height)
        return bottom

    def _drawn(self, sub: SubTopology) -> Drawing:
        sizes = {node.name: shapes.node_size(node) for node in sub.nodes}
        edges = [(parent, node.name) for node in sub.nodes for parent in node.parents]
        for topic in filter(self._fed_back, sub.source_topics):
            sizes[_inner(topic)] = shapes.topic_size(topic)
            edges += [(name, _inner(topic)) for name in self._sinks[topic]]
            edges += [(_inner(topic), name) for name in self._sources[topic]]
        lowest = [sink.name for sink in sub.sinks if not self._fed_back(sink.topic)]
        lowest += [sink.name for sink in sub.dynamic_sinks]
        return layered(sizes, edges, lowest=lowest)

    def _wanted(self, sub: SubTopology, drawing: Drawing) -> float:
        """The position for the centre of a frame that puts its sources below their topics."""
        shifts = [
            self._topics[key].x - (drawing.boxes[source.name].x - drawing.width / 2)
            for source in sub.sources
            for key in map(self._read_as, source.shown_topics)
            if key in self._topics
        ]
        return fmean(shifts) if shifts else 0.0

    def _take(self, drawing: Drawing, x: float, y: float) -> None:
        inner = {_inner(topic): topic for topic in self._sinks}
        for name, box in drawing.boxes.items():
            target = self._topics if name in inner else self._nodes
            target[inner.get(name, name)] = box.moved(x, y)
        for edge, points in drawing.bends.items():
            self._bends[edge] = [(px + x, py + y) for px, py in points]

    def _edges(self) -> Iterable[str]:
        for node in self._graph.nodes:
            box = self._nodes[node.name]
            for parent in node.parents:
                yield shapes.edge(self._nodes[parent], box, self._bends.get((parent, node.name), []))
            if isinstance(node, Source):
                for topic in node.shown_topics:
                    yield shapes.edge(
                        self._topics[self._read_as(topic)], box, self._bends.get((_inner(topic), node.name), [])
                    )
            if isinstance(node, Sink):
                yield shapes.edge(box, self._topics[node.topic], self._bends.get((node.name, _inner(node.topic)), []))


def _frame_title(sub: SubTopology) -> str:
    return f"Sub-topology {sub.number}{': global table' if sub.is_global else ''}"


def _inner(topic: str) -> str:
    return f"topic {topic}"
