"""The Java side: one process that runs many cases on Kafka Streams."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.fuzz.build import topology_of
from conformance.fuzz.description import Case
from conformance.fuzz.order import topic_order
from conformance.record import RECORDER, build

IN_OUR_ORDER = "internal-topics-in-our-order"
_CLASSES = os.pathsep.join((str(RECORDER / "target/classes"), str(RECORDER / "target/lib/*")))
_FRUGAL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
_PATIENCE_S = 20
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - RocksDB waits for a disk at every start


class KafkaStreams:
    """Kafka Streams in a Java process; restarted if it dies or hangs."""

    def __init__(self, *, compile_first: bool = True) -> None:
        if compile_first:
            build()
        in_memory = str(_SHARED_MEMORY) if os.access(_SHARED_MEMORY, os.W_OK) else None
        self._directory = tempfile.TemporaryDirectory(prefix="headrace-fuzz-", dir=in_memory)
        self._process = self._start()

    def run(self, case: Case, *rules: str, memory: bool = False) -> dict[str, Any]:
        """The answer to a case, as `run.on_driver` gives it.

        Args:
            case: what to run.
            rules: rules of Headrace that Kafka Streams is made to follow; see `classify`.
            memory: use stores in memory, which open faster. The default stores, on disk, are the reference: in memory,
                stream joins expire records earlier.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question = {**case.as_json(), "rules": rules, "memory": memory}
        if IN_OUR_ORDER in rules:
            question["order"] = topic_order(topology_of(case))
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answered, _, _ = select.select([self._process.stdout], [], [], _PATIENCE_S)
        line = self._process.stdout.readline() if answered else ""
        if not line:
            self._process.kill()
            self._process.wait()
            self._process = self._start()
            return {"gave up": f"no answer within {_PATIENCE_S} s"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[str]:
        command = ["java", *_FRUGAL, "-cp", _CLASSES, "headrace.conformance.fuzz.Fuzzer", self._directory.name]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        self._directory.cleanup()
