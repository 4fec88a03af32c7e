"""What comes out of Spark when a query fails, in words that help."""

from __future__ import annotations

import pytest

from headrace._runtime.spark.failures import recovered

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
