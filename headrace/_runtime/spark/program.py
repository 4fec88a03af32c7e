"""The plan on its way to the workers: pickled once by the application, unpickled once per worker process."""

from __future__ import annotations

import pickle

from pyspark import cloudpickle

from headrace._runtime.spark.plan import Plan

_loaded: dict[bytes, Plan] = {}


def dump(plan: Plan) -> bytes:
    data: bytes = cloudpickle.dumps(plan)
    return data


def load(program: bytes) -> Plan:
    """Kept between batches: Spark reuses its Python workers."""
    if program not in _loaded:
        _loaded.clear()
        _loaded[program] = pickle.loads(program)  # noqa: S301  written by our own driver
    return _loaded[program]
