"""Builds the documentation site, by `make docs`. Pages are Markdown; the site loads nothing from other hosts."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "_extensions")]

import headrace  # noqa: E402

project = "Headrace"
author = "The Headrace authors"
release = version = headrace.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "repository_files",
    "navigation",
    "notebooks",
    "public_names",
    "marbles.directive",
]
root_doc = "index"
exclude_patterns = ["_extensions", "**/.ipynb_checkpoints"]

# The side bar: captions, and pages or folders. A folder stands for its index page, and is left out while it has none.
navigation = {
    "Start": ["start/", "recipes/", "coming-from/", "from-kafka-streams", "notebooks/"],
    "Guide": [
        "operators/",
        "timestamps",
        "joins",
        "stream-joins",
        "table-aggregations",
        "final-results",
        "own-windows",
        "per-key-time",
        "processors",
        "punctuation",
        "stores",
        "sources",
        "routing",
        "serdes",
        "errors",
        "testing",
        "proposals/",
    ],
    "Operations": ["running", "settings", "kafka", "cluster", "record-cache", "security"],
    "Project": [
        "architecture",
        "conformance",
        "repository/deviations",
        "repository/goldens",
        "proof/",
        "project/",
        "repository/changelog",
        "repository/contributing",
        "repository/maintainers",
    ],
    "Reference": ["reference/"],
}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# Docstrings are Markdown as far as it goes: one backtick is code.
default_role = "code"
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseException,Enum,Struct,tuple,Protocol,Generic,ABC",
    "member-order": "bysource",
    "exclude-members": "__init__,__new__",
}
autodoc_class_signature = "mixed"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# Types of Python and of other packages have no page here, and neither have private ones and type variables.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!headrace\.(serdes\.|testing\.)?[A-Z]).*")]

html_theme = "furo"
html_title = "Headrace"
html_static_path = ["_static"]
html_css_files = ["marbles.css", "site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5a8a", "color-brand-content": "#0b5a8a"},
    "dark_css_variables": {"color-brand-primary": "#6bbcf0", "color-brand-content": "#6bbcf0"},
}
highlight_language = "none"  # blocks that do not say what they are
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def without_blank_lines_at_the_end(_: Sphinx, page: nodes.document) -> None:
    """Removes the blank line that ends blocks of examples in Markdown."""
    for block in page.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip("\n")
        block.children = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> None:
    """Connects the function above."""
    app.connect("doctree-read", without_blank_lines_at_the_end)
