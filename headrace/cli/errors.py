"""Errors of the command line itself."""

from __future__ import annotations

from headrace.errors import StreamsError


class CommandError(StreamsError):
    """A command cannot do what the user asks; the message says why, and what to do."""
