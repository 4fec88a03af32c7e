"""What pictures of a topology call its nodes: the user's name where there is one, else what the node does."""

from __future__ import annotations

import re

from headrace._graph.names import is_generated
from headrace._graph.nodes import Node


def kind(node: Node) -> str:
    """The node's class in words, e.g. `stream aggregate`."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(node).__name__).lower()


def title(node: Node) -> str:
    """A node's name, or its kind if the name is generated."""
    return kind(node) if is_generated(node.name) else node.name


def subtitle(node: Node) -> str:
    """What the title leaves out."""
    return node.name if is_generated(node.name) else kind(node)
