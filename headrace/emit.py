"""When windowed results are written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EmitStrategy:
    """Every update of a window, or only its final result.

    Example:
        >>> EmitStrategy.on_window_close() == EmitStrategy.on_window_update()
        False
    """

    on_close: bool

    @classmethod
    def on_window_update(cls) -> EmitStrategy:
        """Every record that changes a window writes its new result; the usual way."""
        return cls(on_close=False)

    @classmethod
    def on_window_close(cls) -> EmitStrategy:
        """A window's result is written once, when it can no longer change: stream time reached its end plus grace."""
        return cls(on_close=True)
