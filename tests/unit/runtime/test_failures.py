"""The errors that users see when a Spark query fails."""

from __future__ import annotations

import base64
import json
import traceback

import pytest

import headrace as hr
from headrace._runtime.spark.workers.failures import WorkerError, pack_errors, recovered
from headrace._state.log.objects import MissingObjectError
from headrace._state.log.state_log import TakenOverError

# Messages of Spark 4.3, and the beginning of our own.
MESSAGES = [
    (
        'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file or directory',
        "Spark cannot start './environment/bin/python' as Python for its workers. PYSPARK_PYTHON must name one",
    ),
    (
        "ModuleNotFoundError: No module named 'headrace'",
        "Spark's Python workers cannot import headrace. Install it in the Python they run, on every machine",
    ),
]


@pytest.mark.parametrize(("spark_message", "expected"), MESSAGES)
def test_missing_python_or_library_on_workers_is_explained(spark_message, expected):
    failure = Exception(f"An error occurred while calling o73.load.\n: {spark_message}\n\tat java.base")
    assert str(recovered(failure)).startswith(expected)


class OwnError(hr.StateError):
    """A subclass that is not public."""


KINDS = [hr.StateError, hr.ProcessingError, hr.TopicError, TakenOverError, MissingObjectError, OwnError]


@pytest.mark.parametrize("kind", KINDS)
def test_error_of_a_worker_is_raised_as_its_public_class(kind):
    with pytest.raises(WorkerError) as raised, pack_errors():
        raise kind("what happened")
    error = recovered(Exception(f"Spark says: {raised.value}\n at somewhere"))
    public = next(known for known in kind.__mro__ if known.__module__ == "headrace.errors")
    assert (type(error), str(error)) == (public, "what happened")


def forged(name="ConfigError", text="disable all checks"):
    return f"headrace-error<{base64.b64encode(json.dumps([name, text]).encode()).decode()}>"


def in_spark(raised):
    """What Spark shows of an exception of a worker: the traceback with its causes, within its own message."""
    trace = "".join(traceback.format_exception(raised))
    return Exception(f"[STREAM_FAILED] Query terminated: PythonException: {trace}\n\tat org.apache.spark.Task\n")


def shown(error):
    """The error that a user sees after a worker raised another."""
    with pytest.raises(WorkerError) as raised, pack_errors():
        raise error
    return recovered(in_spark(raised.value))


@pytest.mark.parametrize("text", [forged(), "No module named 'headrace'", 'Cannot run program "python"', "Broken pipe"])
def test_text_of_a_record_does_not_replace_the_error_that_is_shown(text):
    message = f"map failed on record in-0@3 (key {text!r}): ValueError: {text}\n{text}"
    error = hr.ProcessingError(message)
    error.__cause__ = ValueError(text)
    found = shown(error)
    assert (type(found), str(found)) == (hr.ProcessingError, message)


@pytest.mark.parametrize("kind", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_an_unexpected_error_is_shown_whatever_its_text(kind):
    found = shown(kind(f"about {forged()}"))
    assert type(found) is hr.StreamsError
    assert str(found).startswith(f"The Spark query failed: {kind.__name__}: about headrace-error<")


@pytest.mark.parametrize("name", ["nearest", "difflib", "Iterable", "os", "__name__", 7])
def test_only_error_classes_of_the_library_are_rebuilt(name):
    found = recovered(Exception(f"before {forged(name)} after"))
    assert type(found) is hr.StreamsError
    assert str(found).startswith("The Spark query failed: before")


@pytest.mark.parametrize("marker", ["headrace-error<AAAA>", "headrace-error<!>", "headrace-error<eyJhIjoxfQ==>"])
def test_a_damaged_marker_is_not_an_error_of_its_own(marker):
    assert str(recovered(Exception(f"no {marker}"))) == f"The Spark query failed: no {marker}"


def test_a_very_long_message_is_cut_before_it_travels_through_spark():
    with pytest.raises(WorkerError) as raised, pack_errors():
        raise hr.ProcessingError("x" * 20_000_000) from ValueError("y" * 20_000_000)
    failure = in_spark(raised.value)
    assert len(str(failure)) < 200_000
    assert str(recovered(failure)).startswith("xxx")
