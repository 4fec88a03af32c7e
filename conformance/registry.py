"""The registry of the catalogue's topologies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

import headrace as hr

TOPOLOGIES: dict[str, Callable[..., hr.Topology]] = {}
REQUIRES: dict[str, str] = {}

_Definition = Callable[..., hr.Topology | None]


def topology(topology_id: str, *, requires: str | None = None) -> Callable[[_Definition], Callable[..., hr.Topology]]:
    """Registers a function that builds one topology.

    The function gets a `StreamsBuilder` and the scenario's parameters. It returns a topology only if it does not use
    that builder.

    Args:
        topology_id: the recorder's method of the same name, with hyphens.
        requires: the feature that the library still lacks to build this topology or to give the recorded results.
    """

    def register(define: _Definition) -> Callable[..., hr.Topology]:
        @wraps(define)
        def build(**params: Any) -> hr.Topology:
            builder = hr.StreamsBuilder()
            return define(builder, **params) or builder.build()

        if topology_id in TOPOLOGIES:
            message = f"Topology {topology_id!r} is registered twice."
            raise ValueError(message)
        TOPOLOGIES[topology_id] = build
        if requires is not None:
            REQUIRES[topology_id] = requires
        return build

    return register


def ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)
