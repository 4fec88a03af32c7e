"""Spark's daemon of Python workers, with what all of them need imported before it forks the first.

Each worker of a new session would otherwise do the same imports for itself.
"""

from __future__ import annotations

import importlib.util

import pyspark.daemon
import pyspark.sql.datasource
import pyspark.sql.streaming.stateful_processor_util

import headrace._runtime.spark.data_source
import headrace._runtime.spark.query  # noqa: F401

if __name__ == "__main__":
    if importlib.util.find_spec("confluent_kafka") is not None:
        import confluent_kafka  # noqa: F401
    pyspark.daemon.manager()
