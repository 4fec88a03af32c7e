"""Spark sessions: one of our own, or the user's, and the settings a query needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace._runtime.spark import java, quiet
from headrace.config import StreamsConfig
from headrace.errors import ConfigError

_STATE = "org.apache.spark.sql.execution.streaming"

# Needed by every query, whoever made the session.
_QUERY_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": f"{_STATE}.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
# On a local file system the default manager spends tens of milliseconds per file.
_LOCAL_CHECKPOINT = {
    "spark.sql.streaming.checkpointFileManagerClass": f"{_STATE}.checkpointing.FileSystemBasedCheckpointFileManager",
}
_SESSION_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.daemon.module": "headrace._runtime.spark.daemon",
    # Records are processed in Python. The JVM hands frames about, for which its quick compiler does: the other one, and
    # a collector with threads of its own, take more processor time than they save.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def local_session(config: StreamsConfig) -> Any:
    """A local Spark session, quiet, with the settings that pay for our queries."""
    require_java()
    from pyspark.sql import SparkSession

    from headrace._runtime.spark.home import lean_spark_home

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {**_SESSION_SETTINGS, **_QUERY_SETTINGS, **config.spark}
    logging = Path(__file__).with_name("log4j2.properties")
    options = settings.get("spark.driver.extraJavaOptions", "")
    settings["spark.driver.extraJavaOptions"] = f"{options} -Dlog4j2.configurationFile={logging.as_uri()}".strip()
    settings = {"spark.master": "local[*]", "spark.app.name": config.application_id, **settings}
    with lean_spark_home():
        quiet.launch(settings)
    return SparkSession.builder.config(map=settings).getOrCreate()


def require_java() -> None:
    """Raises a `ConfigError` that says what to install, unless there is a Java Spark can run on."""
    problem = java.problem()
    if problem is not None:
        raise ConfigError(problem)


@contextmanager
def query_settings(spark: Any, config: StreamsConfig, spark_partitions: int) -> Iterator[None]:
    """Sets what a query reads when it starts, and puts the user's settings back afterwards."""
    wanted: dict[str, str] = {
        **_QUERY_SETTINGS,
        **(_LOCAL_CHECKPOINT if "://" not in str(config.state_dir) else {}),
        **_runtime_only(spark, config.spark),
        "spark.sql.shuffle.partitions": str(spark_partitions),
    }
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def default_partitions(spark: Any, tasks: int) -> int:
    """Spark partitions for a new query: no more than there are cores, since each costs time in every batch."""
    try:
        cores = int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no SparkContext
        cores = os.cpu_count() or 1
    return max(1, min(tasks, cores))


def _runtime_only(spark: Any, settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if spark.conf.isModifiable(name)}
