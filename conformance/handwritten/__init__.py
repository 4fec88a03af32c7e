"""Scenarios written by hand: the executed examples of the semantics reference, and corners that chance rarely meets."""

from __future__ import annotations

from conformance.handwritten import streams
from conformance.scenario import Scenario

HANDWRITTEN: dict[str, list[Scenario]] = {**streams.SCENARIOS}
