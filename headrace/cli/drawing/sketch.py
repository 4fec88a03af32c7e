"""A topology as a tree of text, from the topics it reads to those it writes."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from headrace._graph.drawing.labels import kind, title
from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, NullKeyFilter, Sink, Source


def sketch(graph: Graph) -> Group:
    """One tree per source of user topics; a node with several parents is drawn once and referred to afterwards."""
    drawing = _Sketch(graph)
    sources = [node for node in graph.nodes if isinstance(node, Source) and not node.internal]
    return Group(*map(drawing.of, sources))


class _Sketch:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._readers = {topic: s for s in graph.nodes if isinstance(s, Source) for topic in s.topics}
        self._drawn: set[str] = set()

    def of(self, source: Source) -> Tree:
        what = "topic " if source.pattern is None else "topics matching "
        tree = Tree(Text.assemble((what, "dim"), (", ".join(source.shown_topics), "bold green")), guide_style="dim")
        self._add_children(tree, source)
        return tree

    def _add_children(self, tree: Tree, node: Node) -> None:
        for name in self._graph.children[node.name]:
            self._add(tree, self._graph.by_name[name])

    def _add(self, tree: Tree, node: Node) -> None:
        if isinstance(node, Sink) and not node.internal:
            tree.add(Text.assemble(("topic ", "dim"), (node.topic, "bold green")))
            return
        if isinstance(node, NullKeyFilter):
            self._add_children(tree, node)
            return
        if node.name in self._drawn:
            tree.add(Text(f"{title(node)} (above)", style="dim"))
            return
        self._drawn.add(node.name)
        if isinstance(node, Sink):
            branch = tree.add(Text.assemble(("repartition ", "dim"), (node.topic, "yellow")))
            self._add_children(branch, self._readers[node.topic])
            return
        used = (*node.stores, *node.global_stores)
        stores = f"  store {', '.join(used)}" if used else ""
        label = Text(title(node)).append("" if title(node) == kind(node) else f"  {kind(node)}", style="dim")
        self._add_children(tree.add(label.append(stores, style="magenta")), node)
