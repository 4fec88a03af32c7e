"""What comes out of Spark when a query fails, in words that help."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace._runtime.spark.workers.failures import WorkerError, recovered, reported
from headrace._state.log.objects import MissingObjectError
from headrace._state.log.state_log import TakenOverError

# As Spark 4.3 says it.
SAID = [
    (
        'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file or directory',
        "Spark cannot start './environment/bin/python' as Python for its workers. PYSPARK_PYTHON must name one",
    ),
    (
        "ModuleNotFoundError: No module named 'headrace'",
        "Spark's Python workers cannot import headrace. Install it in the Python they run, on every machine",
    ),
]


@pytest.mark.parametrize(("said", "told"), SAID)
def test_python_that_workers_do_not_have_is_told(said, told):
    failure = Exception(f"An error occurred while calling o73.load.\n: {said}\n\tat java.base")
    assert str(recovered(failure)).startswith(told)


class OwnError(hr.StateError):
    """One that users do not know by its name."""


KINDS = [hr.StateError, hr.ProcessingError, hr.TopicError, TakenOverError, MissingObjectError, OwnError]


@pytest.mark.parametrize("kind", KINDS)
def test_error_of_a_worker_is_raised_as_the_kind_that_users_know(kind):
    with pytest.raises(WorkerError) as raised, reported():
        raise kind("what happened")
    error = recovered(Exception(f"Spark says: {raised.value}\n at somewhere"))
    public = next(known for known in kind.__mro__ if known.__module__ == "headrace.errors")
    assert (type(error), str(error)) == (public, "what happened")
