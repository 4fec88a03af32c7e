"""Errors of the command line itself."""

from __future__ import annotations

from headrace.errors import StreamsError


class CommandError(StreamsError):
    """A command cannot do what it was asked; says what is there instead."""
