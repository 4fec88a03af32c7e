"""Marble diagrams: pictures of operators, drawn from real runs of the test driver.

`run` executes a block, `transcript` writes its run as text, `layout` decides where everything goes, `drawing` makes the
SVG, `pages` finds the blocks of the pages, and `directive` connects all of them to Sphinx.
"""
