"""A scenario: the parameters, settings and steps that are recorded on Kafka Streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.order import Step


@dataclass(frozen=True)
class Scenario:
    """One run of the recorder.

    Attributes:
        name: unique within its topology id.
        steps: `[topic, key, value, timestamp_ms]`, optionally with headers, or `["@advance", milliseconds]`.
        params: parameters of the topology.
        config: settings under Kafka's own names.
        cached: record a second time with the record cache.
        together: all records are in their topics before the first is processed.
    """

    name: str
    steps: list[Step]
    params: dict[str, Any] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    cached: bool = False
    together: bool = False

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"name": self.name, "params": self.params}
        optional = {"config": self.config, "cached": self.cached, "together": self.together}
        return {**fields, **{name: value for name, value in optional.items() if value}, "steps": self.steps}
