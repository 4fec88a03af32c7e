"""`Streams`: runs a topology on Spark."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headrace.config import StreamsConfig
from headrace.dsl.topology import Topology
from headrace.errors import ConfigError, TopologyError
from headrace.model.pending import Pending

if TYPE_CHECKING:
    from headrace._runtime.spark.application import Application


class Streams:
    """One application on Spark: a topology, its settings, its state.

    Everything is exactly once: input offsets, state and output topics of a micro-batch are committed together or not at
    all, and a new `Streams` with the same `application_id` and `state_dir` goes on where the last one stopped.

    Args:
        topology: what to run.
        config: settings.
        spark: your own session, classic or Connect; without it one is made, and stopped with this object: on the
            cluster that `spark-submit` was told, or that `config.spark` names by `spark.master` or `spark.remote`, else
            a local one.

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
        if not topology._graph.source_topics:
            message = "The topology reads no topic; add a source first."
            raise TopologyError(message)
        self._topology = topology
        self._config = config
        self._spark = spark
        self._running: Application | None = None

    def process_available(self) -> None:
        """Processes everything that is in the input topics now, then returns.

        Raises:
            StreamsError: when it fails; nothing of the failed micro-batch remains, and a later call goes on there.
        """
        self._on_spark().process_available()

    def start(self) -> None:
        """Begins to process records as they arrive, and returns."""
        self._on_spark().start()

    def await_termination(self, timeout: timedelta | None = None) -> bool:
        """Waits until the application stops or fails, or the time is over; says whether it ended.

        Raises:
            StreamsError: when it failed.
        """
        return self._application.await_termination(timeout)

    def stop(self) -> None:
        """Ends the application; a Spark session made here is stopped too.

        A micro-batch that is under way has five seconds to finish. After that it is cut off and done again by the next
        start: nothing is lost or doubled.
        """
        if self._running is not None:
            self._running.stop()
            self._running = None

    def store(self, name: str) -> Any:
        """A store as the last committed micro-batch left it; get it again to see a later one.

        It is read without Spark, and may be asked for while the application runs, or after it has ended.
        """
        return self._application.store(name)

    def explain_pending(self, name: str | None = None) -> list[Pending]:
        """Why nothing comes out: what each operator holds back, and what would let it go.

        Operators that hold results back are `suppress` and windows with `EmitStrategy.on_window_close()`. What is told
        is what the last committed micro-batch left, also while the application runs. Printed, each is a sentence.

        Args:
            name: only of this operator, or of the operator with this store.

        Raises:
            StateError: for a name that holds nothing back; it lists those that do.
        """
        return self._application.explain_pending(name)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Counters by operator over the life of the application; dropped records under `dropped`, by reason."""
        return self._application.metrics()

    def _on_spark(self) -> Application:
        """The application, about to use Spark: a JVM of its own starts while the rest is imported."""
        if self._spark is None and self._running is None:
            from headrace._runtime.spark.session.session import begin_launch

            begin_launch(self._config)
        return self._application

    @property
    def _application(self) -> Application:
        if self._running is None:
            from headrace._runtime.spark.application import Application

            self._running = Application(self._topology._graph, self._config, self._spark)
        return self._running

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
