"""Labels of nodes in pictures of a topology: the user's name if there is one, else what the node does."""

from __future__ import annotations

import re

from headrace._graph.names import is_generated
from headrace._graph.nodes import Branch, Node, PassThrough


def kind(node: Node) -> str:
    """What the node does, in words: `filter`, `aggregate`, `select key`."""
    if isinstance(node, PassThrough):
        return "merge" if len(node.parents) > 1 else "branch"
    if isinstance(node, Branch):
        return "split"
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(node).__name__).lower()
    return re.sub(r"^(stream|table) (?=to |\w+$)", "", words)


def title(node: Node) -> str:
    """A node's name, or its kind if the name is generated."""
    return kind(node) if is_generated(node.name) else node.name


def subtitle(node: Node) -> str:
    """The kind of a node that the user named, or the generated name of another node."""
    return node.name if is_generated(node.name) else kind(node)
