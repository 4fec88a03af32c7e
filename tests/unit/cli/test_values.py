"""Keys and values as the command line shows them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import msgspec
import pytest

import headrace as hr
from headrace import serdes
from headrace.cli.commands.consume import FieldReader
from headrace.cli.errors import CommandError
from headrace.cli.output.values import as_json, format_value, serde_named


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


def test_keys_in_windows_are_read_if_the_size_of_the_windows_is_given():
    serde = serde_named("windowedkey:60000")
    assert serde == serdes.WindowedKey(serdes.String(), 60_000)
    assert serde.deserialize(b"k" + (120_000).to_bytes(8, "big")) == hr.Windowed("k", hr.Window(120_000, 180_000))


@pytest.mark.parametrize("text", ["WindowedKey", "WindowedKey:a minute"])
def test_windows_without_a_size_are_refused_with_an_example(text):
    with pytest.raises(CommandError, match=f"Serde '{text}' needs the size .* e.g. WindowedKey:60000"):
        serde_named(text)


def test_a_serde_around_another_one_is_named_with_it():
    assert serde_named("List:long") == serdes.List(serdes.Long())
    assert serde_named("changeevent:List:String") == serdes.ChangeEvent(serdes.List(serdes.String()))


@pytest.mark.parametrize("name", ["List", "ChangeEvent"])
def test_a_serde_around_another_one_is_refused_without_it(name):
    with pytest.raises(CommandError, match=f"Serde '{name}' needs the serde of its values, e.g. {name}:String"):
        serde_named(name)


@pytest.mark.parametrize("text", ["serde_from", "Long:8", "Lang"])
def test_an_unknown_serde_is_refused(text):
    with pytest.raises(CommandError, match=f"There is no serde '{text}'"):
        serde_named(text)


def test_an_unknown_serde_in_another_one_is_named_with_it():
    with pytest.raises(CommandError, match=r"There is no serde 'Lang' in 'List:Lang'[.] Did you mean 'Long'"):
        serde_named("List:Lang")


TIME = (1_764_583_200_000).to_bytes(8, "big")


@pytest.mark.parametrize(
    ("part", "data", "suggested"),
    [
        ("key", b"\xff", " Bool"),
        ("value", bytes(8), " Long or Double"),
        ("key", b"\xff" + TIME, " WindowedKey:60000, if they are in windows of a minute"),
        ("key", b"\xff" + TIME + TIME, " SessionWindowedKey, if they are in session windows"),
        ("value", b"\xff" + TIME, ""),
        ("value", b"\xff" + TIME + TIME, ""),
        ("key", b"no window at all\xff", ""),
    ],
)
def test_bytes_that_cannot_be_read_suggest_a_serde(part, data, suggested):
    reader = FieldReader(part, None, serdes.Json())
    assert reader.read(data, strict=False) == data
    assert reader.hint == f"Choose the serde of the {part}s with --{part}-serde{suggested}."


def test_text_keys_in_session_windows_are_read():
    serde = serde_named("SessionWindowedKey")
    assert serde.deserialize(b"k" + (90).to_bytes(8, "big") + (60).to_bytes(8, "big")) == (
        hr.Windowed("k", hr.Window(60, 90))
    )
