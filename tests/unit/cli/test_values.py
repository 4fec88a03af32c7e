"""Keys and values as the command line shows them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import msgspec
import pytest

from headrace.cli.output.values import as_json, format_value


@dataclass(frozen=True)
class Customer:
    name: str
    tags: tuple[str, ...] = ()


class Place(msgspec.Struct):
    city: str


class Size(enum.Enum):
    SMALL = "s"


class Own:
    def __str__(self):
        return "my own"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Zoë", "Zoë"),
        (b"\x01\xff", "0x01ff"),
        (None, "null"),
        (1.5, "1.5"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (Customer("Ann", ("new",)), '{"name": "Ann", "tags": ["new"]}'),
        ([Customer("Ann")], '[{"name": "Ann", "tags": []}]'),
        (Place("Bern"), '{"city": "Bern"}'),
        (Size.SMALL, '"s"'),
        (Own(), '"my own"'),
    ],
)
def test_a_value_is_shown_as_json_but_text_as_it_is_and_bytes_as_hex(value, shown):
    assert format_value(value) == shown


def test_bytes_are_base64_in_json():
    assert as_json({"photo": b"\x01\xff"}) == '{"photo": "Af8="}'
