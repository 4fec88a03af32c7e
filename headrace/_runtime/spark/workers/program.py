"""The plan on its way to the workers: pickled once by the application, unpickled once per worker process."""

from __future__ import annotations

import pickle

from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.workers import pickling
from headrace.errors import TopologyError

_loaded: dict[bytes, Plan] = {}


def dump(plan: Plan) -> bytes:
    """The plan as bytes.

    Raises:
        TopologyError: if a function of the topology refers to something that cannot be pickled.
    """
    try:
        return pickling.dumps(plan)
    except Exception as error:
        message = (
            f"{_unpicklable(plan)} cannot be sent to Spark's workers: {error}. Its function refers to something that "
            "cannot be pickled, such as a Spark session, a lock, a connection or an open file. Make that inside the "
            "function, on the worker, instead."
        )
        raise TopologyError(message) from error


def load(program: bytes) -> Plan:
    """Kept between batches: Spark reuses its Python workers."""
    if program not in _loaded:
        _loaded.clear()
        _loaded[program] = pickle.loads(program)  # noqa: S301  written by our own driver
    return _loaded[program]


def _unpicklable(plan: Plan) -> str:
    for stage in plan.stages:
        for node in stage.blueprint.sub.nodes:
            try:
                pickling.dumps(node)
            except Exception:
                return f"Operator {node.name!r}"
        for kind, handler in stage.blueprint.defaults.error_handlers._asdict().items():
            try:
                pickling.dumps(handler)
            except Exception:
                return f"{kind}_exception_handler"
    return "The topology"
