"""`Streams`: runs a topology on Spark."""

from __future__ import annotations

from datetime import timedelta
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from headrace._runtime.lifecycle import Lifecycle
from headrace.config import StreamsConfig
from headrace.dsl.topology import Topology
from headrace.errors import ConfigError, StreamsError, TopologyError
from headrace.model.lifecycle import State, StateListener, UncaughtExceptionHandler
from headrace.model.pending import Pending

if TYPE_CHECKING:
    from headrace._runtime.spark.application import Application
    from headrace.model.stores.specs import StoreSpec

ViewT = TypeVar("ViewT")

_STOP_WITHIN = timedelta(seconds=5)


class Streams:
    """One application on Spark: a topology, its settings, its state.

    Processing is exactly once: input offsets, state and output of a micro-batch are committed together or not at all.
    A new `Streams` with the same `application_id` and `state_dir` continues where the last one stopped.

    Args:
        topology: the topology to run.
        config: the settings of the application.
        spark: your own Spark session, classic or Connect. Without one, `Streams` creates a session, and `stop()` stops
            it. It runs on the cluster of `spark-submit`, or on the one that `spark.master` or `spark.remote` in
            `config.spark` names, or else on this machine.

    Raises:
        ConfigError: if neither `topics_dir` nor `bootstrap_servers` is set.
        TopologyError: if the topology reads no topic.

    Example:
        >>> import headrace as hr, tempfile                                     # doctest: +SKIP
        >>> app = hr.Streams(topology, hr.StreamsConfig(application_id="clicks", topics_dir="topics"))  # doctest: +SKIP
        >>> app.process_available()                                             # doctest: +SKIP
    """

    def __init__(self, topology: Topology, config: StreamsConfig, spark: Any = None) -> None:
        if config.topics_dir is None and config.bootstrap_servers is None:
            message = (
                "Running on Spark needs topics: set topics_dir to the directory of the embedded topics, or "
                "bootstrap_servers to the brokers of a Kafka cluster."
            )
            raise ConfigError(message)
        if not topology._graph.shown_source_topics:
            message = "The topology reads no topic. Add a source, such as builder.stream(...)."
            raise TopologyError(message)
        self._topology = topology
        self._config = config
        self._spark = spark
        self._running: Application | None = None
        self._lifecycle = Lifecycle()

    @property
    def state(self) -> State:
        """The state of the application: created, running, paused, failed and so on. Useful for health checks.

        Example:
            >>> import headrace as hr
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").to("out")
            >>> hr.Streams(builder.build(), hr.StreamsConfig(application_id="copy", topics_dir="topics")).state
            <State.CREATED: 'created'>
        """
        return self._lifecycle.state

    def set_state_listener(self, listener: StateListener | None) -> None:
        """Sets a function that is called as `listener(new_state, old_state)` at every change of the state.

        It replaces an earlier listener; `None` removes it. If it raises, the error is only logged.
        """
        self._lifecycle.listener = listener

    def set_uncaught_exception_handler(self, handler: UncaughtExceptionHandler | None) -> None:
        """Sets a function that decides what happens when an application that `start()` started fails.

        The function gets the error. It returns "replace" to start the application again after the last commit. It
        returns "shutdown_client" or "shutdown_application" to stop with the error, which is also what happens without
        a handler (`None`). If starts fail without a commit in between, the next one waits 1, 2, 4 seconds and so on, up
        to 60. For a record that fails every time, use an error handler of `StreamsConfig` instead.
        `process_available()` does not call the function: it always raises the error.
        """
        self._lifecycle.uncaught_exception_handler = handler

    def process_available(self) -> None:
        """Processes all records that are in the input topics now, then returns.

        Raises:
            StreamsError: if the application fails; the failed micro-batch is rolled back, and the next call repeats it.
                Also if the application is already running or paused.
        """
        self._on_spark().process_available()

    def start(self) -> None:
        """Starts to process records as they arrive, in the background, and returns once the Spark query has started.

        Raises:
            StreamsError: if the application is already running, or cannot start.
        """
        self._on_spark().start()

    def await_termination(self, timeout: timedelta | None = None) -> bool:
        """Waits until the application stops or fails; returns `True` then, and `False` if the timeout expires first.

        Args:
            timeout: how long to wait; `None` waits without a limit.

        Raises:
            StreamsError: if the application failed, or if `start()` was not called.
        """
        return self._application.await_termination(timeout)

    def pause(self) -> None:
        """Pauses the application after the current micro-batch, until `resume()`. It keeps its Spark session.

        Nothing is lost: records wait in their topics, and wall-clock punctuations run later. If the application has not
        been started yet, `start()` will start it paused. `stop()` ends a pause.
        """
        self._application.pause()

    def resume(self) -> None:
        """Ends a pause: the next micro-batch begins at once."""
        self._application.resume()

    @property
    def is_paused(self) -> bool:
        """Whether `pause()` was called, and neither `resume()` nor `stop()` since."""
        return self._running is not None and self._running.is_paused

    def stop(self, timeout: timedelta | None = _STOP_WITHIN) -> None:
        """Stops the application, and its Spark session unless you passed your own.

        A micro-batch that does not finish in time is aborted, and the next start repeats it: nothing is lost or written
        twice.

        Args:
            timeout: how long the current micro-batch may take to finish; `None` waits until it has finished.
        """
        if timeout is not None and timeout < timedelta(0):
            message = f"stop(timeout={timeout!r}): expected a timedelta of 0 or more, or None to wait."
            raise StreamsError(message)
        if self._running is not None:
            self._running.stop(timeout)
            self._running = None

    @overload
    def store(self, store: StoreSpec[object, ViewT]) -> ViewT: ...

    @overload
    def store(self, store: str) -> Any: ...

    def store(self, store: StoreSpec | str) -> Any:
        """Returns a read-only view of a store as of the last committed micro-batch.

        Call `store` again to see later micro-batches. Reads do not use Spark; they work while the application runs, and
        after it has stopped.

        Args:
            store: the store's spec, as `Stores` returned it, for a typed view such as `ReadOnlyKeyValueStore[K, V]`; or
                the store's name.

        Raises:
            StateError: if there is no such store; the message lists the existing ones.
        """
        return self._application.store(store if isinstance(store, str) else store.name)

    def explain_pending(self, name: str | None = None) -> list[Pending]:
        """Explains missing output: which results each operator holds back, and what would release them.

        Results are held back by `suppress`, by windows with `EmitStrategy.on_window_close()`, by left and outer joins
        of streams, and by joins with a `grace`. The list is as of the last committed micro-batch. Printed, each
        `Pending` is a sentence.

        Args:
            name: the name of one operator, or of its store, to explain only that one. Default: all operators.

        Raises:
            StateError: if no operator or store of that name holds results back; the message lists those that do.
        """
        return self._application.explain_pending(name)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Returns the counters since the application's first start; an empty dict before the first start.

        There is an entry for each operator, and one for each output topic under `topic <name>`. An operator's `dropped`
        counts its dropped records by reason. The entry "application" has the number of committed `batches`. For the
        latest batches, about a hundred, it also has `records_per_s`, and `batch_ms` from planning to commit: the median
        `p50`, `p90` and `max`.
        """
        return self._application.metrics()

    def _on_spark(self) -> Application:
        """Returns the application, for a call that needs Spark. The JVM starts in the background during the imports."""
        if self._spark is None and self._running is None:
            _require_pyspark()
            from headrace._runtime.spark.session.session import begin_launch
            from headrace._runtime.spark.workers.search_path import add_to_search_path, program_directory

            directory = program_directory()
            if directory is not None:
                add_to_search_path(directory)
            begin_launch(self._config)
        return self._application

    @property
    def _application(self) -> Application:
        if self._running is None:
            _require_pyspark()
            from headrace._runtime.spark.application import Application

            self._running = Application(self._topology._graph, self._config, self._spark, self._lifecycle)
        return self._running

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _require_pyspark() -> None:
    if find_spec("pyspark") is None:
        message = (
            "Running on Spark needs pyspark, which is not installed. Install it with: pip install 'headrace[spark]'. "
            "The test driver in headrace.testing works without it."
        )
        raise ConfigError(message)
