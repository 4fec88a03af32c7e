"""Creates Spark sessions, and sets what queries need in sessions of ours or of the user."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from headrace._private import temporary_directory
from headrace._runtime.spark.session import class_archive, java, quiet
from headrace._runtime.spark.session.forkserver import launcher
from headrace._secrets import SECRET_SETTING
from headrace.config import StreamsConfig
from headrace.errors import ConfigError, known_names

if TYPE_CHECKING:
    from headrace._state.log.state_log import LogView

_T = TypeVar("_T")
_PYTHON = "PYSPARK_PYTHON"
_STREAMING = "org.apache.spark.sql.execution.streaming"

# Needed by every query, in any session. Spark's own checkpoint is only a scratch directory.
_QUERY_SETTINGS = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Adaptive execution would merge partitions that seem small: frames are few and large.
    "spark.sql.adaptive.enabled": "false",
    # Spark handles a few large frames: compiling code for them takes longer than interpreting expressions.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # For stages on a cluster, which run as stateful operators but declare no state.
    "spark.sql.streaming.stateStore.providerClass": f"{_STREAMING}.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
# On a file system the default manager spends tens of milliseconds per file.
_FILE_SYSTEM_CHECKPOINT = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
_SESSION_SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # What Spark's UI, event log and query plans hide. Its default pattern lacks some of our names.
    "spark.redaction.regex": SECRET_SETTING,
}
# Records are processed in Python, the JVM only moves frames. Its quick compiler is enough for that: the optimising one,
# and a garbage collector with its own threads, take more processor time than they save.
LOCAL_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": LOCAL_JAVA_OPTIONS,
}


def begin_session(config: StreamsConfig) -> Future[Any]:
    """Creates `own_session` in the background."""
    return _in_background("headrace-spark-session", partial(own_session, config))


def own_session(config: StreamsConfig) -> Any:
    """Creates the application's own session, with the settings that make our queries fast.

    The session runs on the cluster of `spark-submit`, or on the one that `config.spark` names by `spark.master` or
    `spark.remote`. Otherwise it is local, and Spark's messages about itself are filtered.
    """
    from pyspark.sql import SparkSession

    remote = config.spark.get("spark.remote") or os.environ.get("SPARK_REMOTE")
    if remote:
        return SparkSession.builder.remote(remote).getOrCreate()
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        require_java()
        settings = {**_SESSION_SETTINGS, **_QUERY_SETTINGS, **_submitted(), **config.spark}
    else:
        settings = _launched(config)
    with _python_of_workers(settings.get("spark.master", "")):
        return SparkSession.builder.config(map=settings).getOrCreate()


@contextmanager
def _python_of_workers(master: str) -> Iterator[None]:
    """Sets PYSPARK_PYTHON, the Python of workers, while Spark's JVM or context starts, unless the user has set it.

    The variable does not stay: programs that this process starts later would inherit it, but may need another Python.
    """
    if _PYTHON in os.environ:
        yield
        return
    os.environ[_PYTHON] = (
        launcher() if is_local(master) and "PYSPARK_GATEWAY_PORT" not in os.environ else sys.executable
    )
    try:
        yield
    finally:
        del os.environ[_PYTHON]


# The launch that is in progress, with the configuration it is for.
_launching: list[tuple[StreamsConfig, Future[dict[str, str]]]] = []


def begin_launch(config: StreamsConfig) -> None:
    """Starts Spark's JVM in the background if `own_session` will need one. `own_session` then waits for it."""
    elsewhere = {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"} & os.environ.keys() or "spark.remote" in config.spark
    if elsewhere or _launching:
        return
    _launching.append((config, _in_background("headrace-spark-launch", partial(_launch, config))))


def _in_background(name: str, call: Callable[[], _T]) -> Future[_T]:
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future


def cores_of_launched(config: StreamsConfig) -> int | None:
    """How many tasks a local session on the JVM that `begin_launch` started will run at once.

    Waits until the JVM has started. Returns `None` if it failed to start or there is no such JVM, or if only the
    session itself knows the number.
    """
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None or not _launching or _launching[-1][0] is not config:
        return None
    launched = _launching[-1][1]
    if launched.exception() is not None:
        return None
    settings = launched.result()
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", settings["spark.master"])
    cores = None if local is None else settings.get("spark.default.parallelism", local[1] or "1")
    return (os.cpu_count() or 1) if cores == "*" else None if cores is None else int(cores)


def _launched(config: StreamsConfig) -> dict[str, str]:
    """Waits for the JVM or launches it, and returns the settings of the session."""
    if _launching:
        begun, launched = _launching.pop()
        if begun is config:
            return launched.result()
        # That application did not create its session. If its JVM has started, this one uses it.
        wait([launched])
    return _launch(config)


def _submitted() -> dict[str, str]:
    """The settings of the `spark-submit` that has started this process."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _launch(config: StreamsConfig) -> dict[str, str]:
    """Starts Spark's JVM, and returns the settings of the session."""
    from pyspark.errors import PySparkRuntimeError

    from headrace._runtime.spark.session.spark_home import lean_spark_home

    require_java()
    settings = {**_SESSION_SETTINGS, **_QUERY_SETTINGS, **config.spark}
    settings.setdefault("spark.master", "local[*]")
    settings.setdefault("spark.app.name", config.application_id)
    if is_local(settings["spark.master"]):
        # Shuffled records: Spark's default is a directory in /tmp that everyone may read.
        settings.update({**_LOCAL_SETTINGS, "spark.local.dir": str(temporary_directory()), **config.spark})
    logging = Path(__file__).with_name("log4j2.properties")
    with lean_spark_home() as home:
        options = [settings.get("spark.driver.extraJavaOptions", ""), f"-Dlog4j2.configurationFile={logging.as_uri()}"]
        if home is not None and is_local(settings["spark.master"]):
            options += class_archive.java_options(home)
        settings["spark.driver.extraJavaOptions"] = " ".join(options).strip()
        try:
            with _python_of_workers(settings["spark.master"]):
                quiet.launch(settings)
        except PySparkRuntimeError as error:
            given = f" Check these settings of spark=: {known_names(config.spark)}." if config.spark else ""
            message = f"Spark did not start; it wrote the reason to stderr.{given}"
            raise ConfigError(message) from error
    return settings


def is_local(master: str) -> bool:
    """Whether Spark runs in the process of its driver."""
    return master.startswith("local") and not master.startswith("local-cluster")


def require_java() -> None:
    """Raises a `ConfigError` that says what to install, unless there is a Java that Spark can run on."""
    problem = java.problem()
    if problem is not None:
        raise ConfigError(problem)


@contextmanager
def query_settings(spark: Any, config: StreamsConfig, spark_partitions: int) -> Iterator[None]:
    """Sets the Spark settings that a query reads when it starts, and restores the user's settings afterwards."""
    wanted: dict[str, str] = {
        **_QUERY_SETTINGS,
        **_FILE_SYSTEM_CHECKPOINT,
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


def parallelism(cores: int | None, wanted: int | None, tasks: int, before: LogView | None) -> tuple[int, bool]:
    """The number of Spark partitions of a spread batch, and whether one task may run a whole batch instead.

    `wanted` is the number that the user has set: if it is 1, one task runs every batch; if it is more, all batches are
    spread. If it is `None`, there is a partition for each of the `tasks`, on one machine for at most as many as
    `cores`. On a cluster, which may grow, `cores` is `None`, and batches are spread, because tasks return to the
    executors with their replicas. A batch that was planned but not committed is repeated on as many as before.
    """
    partitions = wanted or (tasks if cores is None else max(1, min(tasks, cores)))
    fuses = wanted == 1 or (wanted is None and cores is not None)
    unfinished = None if before is None else before.unfinished
    if unfinished is not None:
        return unfinished.spread or partitions, fuses or not unfinished.spread
    return partitions, fuses


def cores_of(spark: Any) -> int | None:
    """How many tasks a local Spark runs at once; `None` on a cluster."""
    if not is_local(spark.conf.get("spark.master", "local")):
        return None
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no SparkContext
        return os.cpu_count() or 1


def _runtime_only(spark: Any, settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if spark.conf.isModifiable(name)}
