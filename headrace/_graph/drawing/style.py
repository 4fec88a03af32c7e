"""Colours and fonts of a topology's picture, in light and dark."""

from __future__ import annotations

_LIGHT = """--page: #f6f7f9; --card: #ffffff; --ink: #1d2733; --soft: #66727f; --line: #d9dee4;
  --edge: #97a3b0; --frame: #f1f4f8; --source: #2f7d5b; --sink: #3567a8; --stateful: #8a4fb0; --warm: #b5701c;"""
_DARK = """--page: #14181d; --card: #1d232a; --ink: #e6eaee; --soft: #97a3b0; --line: #333c46;
  --edge: #66727f; --frame: #191f26; --source: #5bc295; --sink: #77a9ea; --stateful: #c490e6; --warm: #e2a354;"""

# Every selector begins with the class of the picture: in a notebook the styles apply to the whole page.
PICTURE = """
.headrace text { fill: var(--ink); } .headrace .name { font-size: 13px; font-weight: 600; text-anchor: middle; }
.headrace .kind { font: 10px ui-monospace, Menlo, Consolas, monospace; fill: var(--soft); text-anchor: middle; }
.headrace .edge { fill: none; stroke: var(--edge); stroke-width: 1.6; } .headrace .arrow { fill: var(--edge); }
.headrace g > rect { fill: var(--card); stroke: var(--color); stroke-width: 1.6; }
.headrace g:hover > rect { stroke-width: 2.6; }
.headrace .step { --color: var(--edge); } .headrace .source { --color: var(--source); }
.headrace .sink { --color: var(--sink); } .headrace .stateful { --color: var(--stateful); }
.headrace .repartition { --color: var(--warm); } .headrace .topic { --color: var(--ink); }
.headrace .frame > rect, .headrace .frame:hover > rect { fill: var(--frame); stroke: var(--line); stroke-width: 1; }
.headrace .frame > text { font-size: 12px; fill: var(--soft); font-weight: 600; }
.headrace .topic > rect { fill: var(--ink); } .headrace .topic > text { fill: var(--card); }
.headrace .repartition > rect { stroke-dasharray: 5 3; }
.headrace .store > rect { stroke: none; fill: color-mix(in srgb, var(--stateful) 14%, transparent); }
.headrace .store path { fill: none; stroke: var(--stateful); stroke-width: 1.4; }
.headrace .store .name { text-anchor: start; font-size: 12px; fill: var(--stateful); }
"""

# For a picture that stands alone: it has its own colours, font and background.
STANDALONE = """
.headrace { max-width: 100%; height: auto; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.headrace > rect { fill: var(--card); stroke: var(--line); }
"""


def palette(selector: str) -> str:
    """CSS that sets the colours for the elements of a selector, light or dark as the reader prefers."""
    dark = f"@media (prefers-color-scheme: dark) {{ {selector} {{ {_DARK} }} }}"
    return f"{selector} {{ color-scheme: light dark; {_LIGHT} }}\n{dark}"
