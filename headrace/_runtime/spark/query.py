"""One Structured Streaming query: source, the chain of stages, sink."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headrace._runtime.spark import frames, program
from headrace._runtime.spark.data_source import data_source
from headrace._runtime.spark.failures import recovered
from headrace._runtime.spark.plan import Plan
from headrace._runtime.spark.session import query_settings
from headrace._runtime.spark.stage import StageProcessor
from headrace.config import StreamsConfig


def start(spark: Any, plan: Plan, config: StreamsConfig, *, available_now: bool) -> Any:
    """Starts the query of a plan and returns Spark's handle of it."""
    try:
        return _start(spark, plan, config, available_now=available_now)
    except (PySparkException, Py4JJavaError) as failure:
        raise recovered(failure) from failure


def _start(spark: Any, plan: Plan, config: StreamsConfig, *, available_now: bool) -> Any:
    _activate(spark)
    packed = program.dump(plan)
    source = f"headrace-{plan.instance}"
    spark.dataSource.register(data_source(source, packed, config.max_records_per_batch))
    with query_settings(spark, config, plan.spark_partitions):
        stream = spark.readStream.format(source).load()
        for stage in plan.chain:
            stream = (
                stream.selectExpr("*", f"{_grouping(plan, stage.index)} as route")
                .groupBy("route")
                .transformWithState(StageProcessor(packed, stage.index), frames.DDL, "append", "none")
            )
        writer = (
            stream.writeStream.format(source)
            .outputMode("append")
            .queryName(plan.application_id)
            .option("checkpointLocation", checkpoint_location(config))
        )
        interval = f"{config.commit_interval / timedelta(milliseconds=1):.0f} milliseconds"
        writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=interval)
        return writer.start()


def _activate(spark: Any) -> None:
    """Makes the session that of this thread, which may not have made it: Spark looks up data sources there."""
    session = getattr(spark, "_jsparkSession", None)  # on Connect there is none, and no need
    if session is not None:
        type(spark)._get_j_spark_session_class(spark._jvm).setActiveSession(session)


def await_end(query: Any, timeout: timedelta | None = None) -> bool:
    """Waits for the query to end; raises the library's error if it failed."""
    try:
        ended = query.awaitTermination(None if timeout is None else timeout.total_seconds())
    except PySparkException as failure:
        raise recovered(failure) from failure
    return True if timeout is None else bool(ended)


def checkpoint(config: StreamsConfig) -> Path:
    return (config.state_dir / "checkpoint").absolute()


def checkpoint_location(config: StreamsConfig) -> str:
    """For Spark, whose default file system may be another than that of the state directory."""
    return f"file://{checkpoint(config)}"


def _grouping(plan: Plan, index: int) -> str:
    """The grouping key of a frame at a stage: its task's route, or one that lets it pass."""
    passing = ", ".join(map(str, plan.routes[index][1]))
    through = f"element_at(array({passing}), cast(pmod(target, {plan.spark_partitions}) as int) + 1)"
    return f"case when stage = {index} then target else {through} end"
