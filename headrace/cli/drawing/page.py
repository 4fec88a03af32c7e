"""A topology as a self-contained HTML page: no script, no network."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from headrace._graph.drawing.picture import svg
from headrace._graph.drawing.style import PICTURE, palette
from headrace.dsl.topology import Topology

_STYLE = """
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 32px 24px; }
h1 { font-size: 26px; margin: 0 0 4px; } p { margin: 0 0 20px; color: var(--soft); }
p b { color: var(--ink); font-weight: 600; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; overflow-x: auto; }
.card svg { display: block; margin: 0 auto; }
ul { display: flex; flex-wrap: wrap; gap: 6px 22px; list-style: none; padding: 0; margin: 16px 2px; color: var(--soft);
  font-size: 13px; }
li::before { content: ""; display: inline-block; width: 11px; height: 11px; border-radius: 4px; margin-right: 7px;
  border: 2px solid var(--color); vertical-align: -2px; }
details { margin-top: 12px; } summary { cursor: pointer; font-weight: 600; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; overflow-x: auto;
  font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
"""

_LEGEND = (
    ("topic", "topic"),
    ("source", "reads a topic"),
    ("step", "stateless"),
    ("stateful", "stateful, with its stores"),
    ("sink", "writes a topic"),
    ("repartition", "repartition"),
)


def html_page(topology: Topology, *, title: str) -> str:
    """The HTML page of a topology: a picture, a legend, and its text formats."""
    graph = topology._graph
    legend = "".join(f'<li class="{style}">{text}</li>' for style, text in _LEGEND)
    facts = (
        f"Reads <b>{_listed(graph.shown_source_topics)}</b>, writes <b>{_listed(graph.sink_topics)}</b>, "
        f"keeps <b>{_listed(graph.stores)}</b>."
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: topology</title>
<style>{palette(":root")}{_STYLE}{PICTURE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<p>{facts}</p>
<div class="card">
{svg(graph)}
</div>
<ul class="headrace">{legend}</ul>
<details><summary>As text</summary><pre>{escape(topology.describe())}</pre></details>
<details><summary>As a Mermaid flowchart</summary><pre>{escape(topology.to_mermaid())}</pre></details>
</main>
</body>
</html>
"""


def _listed(names: Iterable[str]) -> str:
    return escape(", ".join(names)) or "nothing"
