"""The page "From Kafka Streams" answers for every public name of Kafka Streams, with Python names that exist."""

from __future__ import annotations

from conformance.api.equivalents import equivalents, unknown_names, unused_answers
from conformance.api.listing import read_listing
from conformance.api.page import PAGE, page

LISTING = read_listing()


def test_every_public_name_of_kafka_streams_has_an_answer():
    assert [f"{one.owner}.{one.name}" for one in equivalents(LISTING) if one.text is None] == []


def test_every_python_name_in_an_answer_exists():
    found = {f"{one.owner}.{one.name}": unknown_names(one) for one in equivalents(LISTING)}
    assert {name: unknown for name, unknown in found.items() if unknown} == {}


def test_no_answer_is_for_something_that_kafka_streams_does_not_have():
    assert unused_answers(LISTING) == []


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(LISTING), "run: python -m conformance.api --update"
