"""Types in signatures link to the reference, where a class has its public name, not that of its private module."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import headrace
import headrace.serdes
import headrace.testing

PUBLIC = {
    name: f"{module.__name__}.{name}"
    for module in (headrace.testing, headrace.serdes, headrace)
    for name in module.__all__
    if not name.islower()
}


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Node) -> nodes.Node | None:
    """Resolves a reference to a private module's class, e.g. `headrace.dsl.kstream.KStream`, to its public name."""
    module, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or name not in PUBLIC or not (module == "" or module.startswith("headrace")):
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", PUBLIC[name], node, content)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connects the extension."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True}
