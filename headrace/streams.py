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
        spark: your own session, classic or Connect. Without it a session is created, and stopped by `stop()`: on the
            cluster of `spark-submit`, or the one that `config.spark` names by `spark.master` or `spark.remote`, else
            locally.

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
        """The state of the application: created, running, paused, failed and so on.

        A health check can tell a running application from one that has failed:

        Example:
            >>> import headrace as hr
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").to("out")
            >>> hr.Streams(builder.build(), hr.StreamsConfig(application_id="copy", topics_dir="topics")).state
            <State.CREATED: 'created'>
        """
        return self._lifecycle.state

    def set_state_listener(self, listener: StateListener | None) -> None:
        """Calls `listener(new_state, old_state)` at every change of the state; `None` removes the listener."""
        self._lifecycle.listener = listener

    def set_uncaught_exception_handler(self, handler: UncaughtExceptionHandler | None) -> None:
        """Lets a function decide what happens when an application that `start()` started fails.

        The function receives the error. It returns "replace" to start again after the last commit, or "shutdown_client"
        or "shutdown_application" to stop with the error, as without a handler. Starts that fail without a commit
        between them wait for 1, 2, 4 and so on up to 60 seconds. A record that fails again and again needs an error
        handler of `StreamsConfig` instead. `process_available()` always raises the error.
        """
        self._lifecycle.uncaught_exception_handler = handler

    def process_available(self) -> None:
        """Processes all records that are in the input topics now, then returns.

        Raises:
            StreamsError: if it fails. The failed micro-batch is rolled back, and the next call repeats it.
        """
        self._on_spark().process_available()

    def start(self) -> None:
        """Starts to process records as they arrive, and returns at once."""
        self._on_spark().start()

    def await_termination(self, timeout: timedelta | None = None) -> bool:
        """Waits until the application stops or fails, or the timeout expires; returns whether it ended.

        Raises:
            StreamsError: if it failed.
        """
        return self._application.await_termination(timeout)

    def pause(self) -> None:
        """Makes the current micro-batch the last one until `resume()`; the application keeps its Spark session.

        Nothing is lost: records wait in their topics, and wall-clock punctuations are late. An application that is
        paused before it is started starts paused. `stop()` ends a pause.
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
        """Stops the application, and its Spark session unless that is yours.

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
        """Returns a read-only view of a store as of the last committed micro-batch; call it again to see later ones.

        It is read without Spark, while the application runs or after it has stopped.

        Args:
            store: its spec, as `Stores` returned it, for a typed view such as `ReadOnlyKeyValueStore[K, V]`; or its
                name.

        Raises:
            StateError: if there is no such store; the message lists those that exist.
        """
        return self._application.store(store if isinstance(store, str) else store.name)

    def explain_pending(self, name: str | None = None) -> list[Pending]:
        """Explains missing output: which results each operator holds back, and what would release them.

        Operators that hold results back are `suppress`, windows with `EmitStrategy.on_window_close()`, and joins whose
        records wait. The answer is as of the last committed micro-batch. Printed, each `Pending` is a sentence.

        Args:
            name: explain only this operator, or the operator with this store.

        Raises:
            StateError: if nothing of that name holds results back; the message lists what does.
        """
        return self._application.explain_pending(name)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Returns counters since the application's first start, by operator, and by output topic as `topic <name>`.

        An operator's `dropped` has its dropped records by reason. "application" has the number of committed
        `batches`, and of the last ones, at most about a hundred, the `records_per_s` and the `batch_ms` from planning
        to commit: the median `p50`, `p90` and `max`.
        """
        return self._application.metrics()

    def _on_spark(self) -> Application:
        """The application, for a call that needs Spark: the JVM starts in the background while modules are imported."""
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
