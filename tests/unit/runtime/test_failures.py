"""The errors that users see when a Spark query fails."""

from __future__ import annotations

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
