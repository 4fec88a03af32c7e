"""Sends the plan to the workers: the application pickles it once, each worker process unpickles it once."""

from __future__ import annotations

import pickle

from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.workers import pickling
from headrace.errors import TopologyError

_plans: dict[bytes, Plan] = {}


def dump(plan: Plan) -> bytes:
    """Pickles the plan.

    Raises:
        TopologyError: if a function of the topology refers to something that cannot be pickled.
    """
    try:
        return pickling.dumps(plan)
    except Exception as error:
        message = (
            f"{_find_unpicklable(plan)} cannot be sent to Spark's workers: {error}. Its function refers to something "
            "that cannot be pickled, such as a Spark session, a lock, a connection or an open file. Create that "
            "inside the function instead, so that it is created on the worker."
        )
        raise TopologyError(message) from error


def load(packed_plan: bytes) -> Plan:
    """Unpickles the plan. Spark reuses its Python workers, so the last plan is cached for the next batch."""
    if packed_plan not in _plans:
        _plans.clear()
        _plans[packed_plan] = pickle.loads(packed_plan)  # noqa: S301  written by our own driver
    return _plans[packed_plan]


def _find_unpicklable(plan: Plan) -> str:
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
