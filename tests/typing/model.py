"""The values of the typed chains."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Sale:
    customer: str
    cents: int


@dataclass
class Customer:
    name: str
    country: int
