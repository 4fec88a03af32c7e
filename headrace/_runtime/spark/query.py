"""The Structured Streaming query of an application: source, the chain of stages, sink."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.session.session import is_local, query_settings
from headrace._runtime.spark.stages.carriers import with_stage
from headrace._runtime.spark.topics.data_source import data_source
from headrace._runtime.spark.workers import program
from headrace._runtime.spark.workers.failures import recovered
from headrace.config import StreamsConfig

SCRATCH = "spark"


def start(spark: Any, plan: Plan, config: StreamsConfig, *, available_now: bool) -> Any:
    """Starts the query of a plan, and returns Spark's handle for it."""
    try:
        return _start(spark, plan, config, available_now=available_now)
    except (PySparkException, Py4JJavaError) as failure:
        raise recovered(failure, plan.state_dir) from failure


def _start(spark: Any, plan: Plan, config: StreamsConfig, *, available_now: bool) -> Any:
    _activate(spark)
    on_cluster = not is_local(spark.conf.get("spark.master", "local"))
    packed = program.dump(plan)
    source = f"headrace-{plan.instance}"
    spark.dataSource.register(data_source(source, packed))
    with query_settings(spark, config, plan.spark_partitions):
        stream = spark.readStream.format(source).load()
        for stage in plan.chain if plan.spark_partitions > 1 or not plan.fuses else ():
            stream = with_stage(stream, plan, packed, stage, keeps_place=on_cluster)
        writer = (
            stream.writeStream.format(source)
            .outputMode("append")
            .queryName(plan.application_id)
            .option("checkpointLocation", _fresh_checkpoint(plan))
        )
        interval = f"{config.commit_interval / timedelta(milliseconds=1):.0f} milliseconds"
        writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=interval)
        return writer.start()


def _activate(spark: Any) -> None:
    """Makes this session the active one of the thread, because Spark looks up data sources in the active session."""
    session = getattr(spark, "_jsparkSession", None)  # Connect has none, and needs none
    if session is not None:
        type(spark)._get_j_spark_session_class(spark._jvm).setActiveSession(session)


def await_end(query: Any, state_dir: str | os.PathLike[str], timeout: timedelta | None = None) -> bool:
    """Waits until the query ends or `timeout` is over, and returns whether it has ended.

    `state_dir` is where the query has its checkpoint.

    Raises:
        StreamsError: if the query failed; `recovered` finds the error in Spark's exception.
    """
    try:
        ended = query.awaitTermination(None if timeout is None else timeout.total_seconds())
    except PySparkException as failure:
        raise recovered(failure, state_dir) from failure
    return True if timeout is None else bool(ended)


def _fresh_checkpoint(plan: Plan) -> str:
    """Returns the URL of a new directory for Spark's checkpoint, and deletes those of earlier starts.

    The next start needs nothing from it, because the state log has all progress. The URL begins with `file://`, because
    Spark's default file system may be another one.
    """
    scratch = Path(plan.state_dir) / SCRATCH
    for left in scratch.glob("*"):
        if left.name.isdigit() and int(left.name) < plan.epoch:
            shutil.rmtree(left, ignore_errors=True)
    return f"file://{scratch / str(plan.epoch)}"
