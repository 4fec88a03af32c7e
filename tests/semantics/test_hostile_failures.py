"""User functions that fail in unusual ways: the error still names the operator and the record, within bounds."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace._core.operators import functions
from headrace.testing import TopologyTestDriver
from tests.support.columnar import run

LONG = 20_000_000


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no repr")


def failing(error):
    def fail(value):
        raise error

    builder = hr.StreamsBuilder()
    builder.stream("in", value_serde=serdes.String()).map_values(fail, name="fails").to("out")
    return builder.build()


def failure(topology, config=None):
    with pytest.raises(hr.ProcessingError) as raised, TopologyTestDriver(topology, config) as driver:
        driver.input_topic("in").pipe("k", "v", 5)
    return str(raised.value)


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit("x")])
def test_an_exit_in_a_user_function_is_reported_with_operator_and_record(error):
    expected = f"fails failed on record in-0@0 (key 'k', timestamp 5), task 0_0: {type(error).__name__}: {error}"
    assert failure(failing(error)).startswith(expected)


@pytest.mark.parametrize("columnar", [False, True], ids=["by records", "in columns"])
def test_an_exit_is_reported_alike_by_records_and_in_columns(columnar):
    chunks = [([("k", "v", 5, ())],)]
    with pytest.raises(hr.ProcessingError, match=r"fails failed on record in-0@0 \(key 'k', timestamp 5\).*SystemExit"):
        run(failing(SystemExit("bye")), chunks, serdes.String(), columnar=columnar)


def test_an_exit_is_left_to_the_processing_handler_like_any_other_error():
    config = hr.StreamsConfig(application_id="t", processing_exception_handler="continue")
    with TopologyTestDriver(failing(SystemExit(3)), config) as driver:
        driver.input_topic("in").pipe("k", "v", 5)
        assert driver.metrics()["fails"] == {"dropped": {"processing error": 1}}


def test_an_exit_in_init_and_in_a_punctuation_is_reported():
    class Exits(hr.Processor):
        def __init__(self, when):
            self.when = when

        def init(self, context):
            if self.when == "init":
                raise SystemExit(1)
            context.schedule(timedelta(milliseconds=1), hr.PunctuationType.STREAM_TIME, self.fire)

        def fire(self, timestamp_ms):
            raise SystemExit(2)

        def process(self, record):
            pass

    for when, said in (("init", "initialising its processor"), ("punctuation", "while punctuating at stream time 5")):
        builder = hr.StreamsBuilder()
        builder.stream("in", value_serde=serdes.String()).process(lambda when=when: Exits(when), name="exits").to("out")
        message = failure(builder.build())
        assert message.startswith("exits failed")
        assert said in message


def test_an_error_without_a_text_is_reported_by_its_class():
    assert "fails failed on record in-0@0" in (message := failure(failing(Mute())))
    assert "Mute: (its text cannot be shown: RuntimeError)" in message


def test_a_very_long_error_is_cut():
    message = failure(failing(ValueError("x" * LONG)))
    assert message.startswith("fails failed on record in-0@0")
    assert len(message) < 20_000


@pytest.mark.parametrize("error", [Mute(), ValueError("x" * LONG)], ids=["without a text", "very long"])
def test_a_dead_letter_describes_an_unusual_error_within_bounds(error):
    settings = {"processing_exception_handler": "dead_letter", "dead_letter_topic": "dead"}
    with TopologyTestDriver(failing(error), hr.StreamsConfig(application_id="t", **settings)) as driver:
        driver.input_topic("in").pipe("k", "v", 5)
        (letter,) = driver.output_topic("dead").read_all()
    assert (letter.key, letter.value, letter.timestamp_ms) == (b"k", b"v", 5)
    assert sum(len(value) for _, value in letter.headers) < 100_000


def test_a_value_that_cannot_be_shown_does_not_hide_the_error():
    builder = hr.StreamsBuilder()
    builder.stream("in", value_serde=serdes.String()).map_values(lambda value: Unshowable()).to("out", name="writes")
    message = failure(builder.build())
    assert "writes failed on record in-0@0" in message
    assert "cannot serialize (a Unshowable that cannot be shown: RuntimeError)" in message


@pytest.mark.parametrize("method", ["flat_map", "flat_map_values"])
def test_very_many_outputs_of_one_record_are_logged(method, monkeypatch, caplog):
    monkeypatch.setattr(functions, "MANY_OUTPUTS", 3)
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", value_serde=serdes.Long())
    if method == "flat_map":
        split = stream.flat_map(lambda key, value: ((key, one) for one in range(value)), name="splits")
    else:
        split = stream.flat_map_values(range, name="splits")
    split.to("out", value_serde=serdes.Long())
    with caplog.at_level(logging.WARNING), TopologyTestDriver(builder.build()) as driver:
        for number in (3, 40):
            driver.input_topic("in").pipe("k", number, 5)
        values = [record.value for record in driver.output_topic("out").read_all()]
    assert values == [*range(3), *range(40)]
    assert [record.getMessage() for record in caplog.records] == [
        f"splits: the function given to {method}() has returned more than {count} outputs for the record with key 'k', "
        "which are kept in memory. Check that it ends."
        for count in (3, 30)
    ]
