"""Serdes around another serde: when bytes may be copied instead of being read and written."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes

SECOND = timedelta(seconds=1)


class LowerCase(serdes.WindowedKey):
    """Keys are read in small letters."""

    def _from_bytes(self, data):
        windowed = super()._from_bytes(data)
        return hr.Windowed(windowed.key.lower(), windowed.window)


class UpperCase(serdes.ChangeEvent):
    """Texts are written in capital letters."""

    def _to_bytes(self, value):
        return super()._to_bytes(value).upper()


class NeverCanonical(serdes.ChangeEvent):
    """Says so itself."""

    canonical = False


class OwnCanonical(serdes.WindowedKey):
    """Another format, in which every value has one encoding."""

    canonical = True

    def _to_bytes(self, value):
        return super()._to_bytes(value)


class Unchanged(NeverCanonical):
    """Inherits everything."""


@pytest.mark.parametrize(
    ("serde", "canonical"),
    [
        (NeverCanonical(serdes.String()), False),
        (Unchanged(serdes.String()), False),
        (OwnCanonical(serdes.String(), SECOND), True),
        (OwnCanonical(serdes.Json(), SECOND), True),
    ],
)
def test_canonical_as_a_class_says_applies_to_it_and_to_its_copies(serde, canonical):
    assert serde.canonical == canonical
    assert serde.read_back().canonical == canonical
    assert type(serde)().with_default(serdes.String()).canonical == canonical


@pytest.mark.parametrize(
    ("serde", "canonical"),
    [
        (serdes.WindowedKey(serdes.String(), SECOND), True),
        (serdes.SessionWindowedKey(serdes.String()), True),
        (serdes.ChangeEvent(serdes.Long()), True),
        (serdes.WindowedKey(serdes.Json(), SECOND), False),
        (serdes.ChangeEvent(), False),
        (serdes.List(serdes.String()), False),
        (LowerCase(serdes.String(), SECOND), False),
        (UpperCase(serdes.String()), False),
    ],
)
def test_bytes_are_copied_only_if_the_inner_serde_and_the_class_allow_it(serde, canonical):
    assert serde.canonical == canonical
    assert serde.with_default(serdes.String()).canonical == (canonical or serde == serdes.ChangeEvent())
    assert serde.read_back().canonical == canonical


def test_a_subclass_reads_every_key_of_a_topic_itself():
    builder = hr.StreamsBuilder()
    lower = LowerCase(serdes.String(), SECOND)
    builder.stream("in", key_serde=lower, value_serde=serdes.String()).to("out", key_serde=lower)
    window = hr.Window(0, 1000)
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe(hr.Windowed("A", window), "x", 5)
        assert driver.output_topic("out").read_all() == [hr.Record(hr.Windowed("a", window), "x", 5)]
