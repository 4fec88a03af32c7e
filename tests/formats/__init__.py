"""Formats of state and topics: what every earlier version has written is read by this one.

`tests/fixtures/formats` has a folder for each set of format numbers: an application, its state and topics as that
version wrote them, and what they contain. A folder never changes. When a number in `headrace/_formats.py` grows:

    python -m tests.formats.write 2
"""
