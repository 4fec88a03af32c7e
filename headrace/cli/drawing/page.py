"""A topology as a self-contained HTML page: no script, no network."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from headrace.cli.drawing.picture import svg
from headrace.dsl.topology import Topology

_STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #1d2733; --soft: #66727f; --line: #d9dee4;
  --edge: #97a3b0; --frame: #f1f4f8; --source: #2f7d5b; --sink: #3567a8; --stateful: #8a4fb0; --warm: #b5701c; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --card: #1d232a; --ink: #e6eaee; --soft: #97a3b0;
  --line: #333c46; --edge: #66727f; --frame: #191f26; --source: #5bc295; --sink: #77a9ea; --stateful: #c490e6;
  --warm: #e2a354; } }
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
text { fill: var(--ink); } .name { font-size: 13px; font-weight: 600; text-anchor: middle; }
.kind { font: 10px ui-monospace, Menlo, Consolas, monospace; fill: var(--soft); text-anchor: middle; }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.6; } .arrow { fill: var(--edge); }
g > rect { fill: var(--card); stroke: var(--color); stroke-width: 1.6; } g:hover > rect { stroke-width: 2.6; }
.step { --color: var(--edge); } .source { --color: var(--source); } .sink { --color: var(--sink); }
.stateful { --color: var(--stateful); } .repartition { --color: var(--warm); } .topic { --color: var(--ink); }
.frame > rect, .frame:hover > rect { fill: var(--frame); stroke: var(--line); stroke-width: 1; }
.frame > text { font-size: 12px; fill: var(--soft); font-weight: 600; }
.topic > rect { fill: var(--ink); } .topic > text { fill: var(--card); }
.repartition > rect { stroke-dasharray: 5 3; }
.store > rect { stroke: none; fill: color-mix(in srgb, var(--stateful) 14%, transparent); }
.store path { fill: none; stroke: var(--stateful); stroke-width: 1.4; }
.store .name { text-anchor: start; font-size: 12px; fill: var(--stateful); }
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
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<p>{facts}</p>
<div class="card">
{svg(graph)}
</div>
<ul>{legend}</ul>
<details><summary>As text</summary><pre>{escape(topology.describe())}</pre></details>
<details><summary>As a Mermaid flowchart</summary><pre>{escape(topology.to_mermaid())}</pre></details>
</main>
</body>
</html>
"""


def _listed(names: Iterable[str]) -> str:
    return escape(", ".join(names)) or "nothing"
