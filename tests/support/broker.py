"""A Kafka broker for tests: one JVM on this machine, in a temporary directory. `make kafka` starts one to try."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

POM = Path(__file__).resolve().parents[1] / "broker" / "pom.xml"
LIBRARIES = POM.parent / "target" / "lib"
COMPLETE = POM.parent / "target" / "complete"

# Options for a JVM that starts often and runs briefly.
_JAVA = ["java", "-Xms128m", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
_UP_WITHIN_S = 60
_NONE: Mapping[str, object] = {}


class BrokerUnavailableError(Exception):
    """No broker can be started on this machine; the message says why."""


class Broker:
    """A single Kafka node on the loopback interface, with small internal topics and no automatic topic creation.

    With `port` 0 it uses a free port. `settings` override its configuration.
    """

    def __init__(
        self, directory: Path, port: int = 0, *, command: Sequence[str] = _JAVA, settings: Mapping[str, object] = _NONE
    ) -> None:
        resolve()
        self._command = command
        self._directory = directory
        self._port = port or free_port()
        self._secure_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._configuration = directory / "server.properties"
        self._configuration.write_text(_configuration(directory, self._port, self._secure_port, free_port(), settings))
        _run("kafka.tools.StorageTool", "format", "-t", _cluster_id(), "-c", str(self._configuration))

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def secure_servers(self) -> str:
        """The address of the listener with authentication: user alice, password `wonderland`."""
        return f"127.0.0.1:{self._secure_port}"

    def start(self) -> None:
        with (self._directory / "broker.log").open("ab") as log:
            command = [*self._command, "-cp", classpath(), "kafka.Kafka", str(self._configuration)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        ends_s = time.monotonic() + _UP_WITHIN_S
        while not answers(self._port):
            if self._process.poll() is not None or time.monotonic() > ends_s:
                self.kill()
                message = f"the broker did not start: {(self._directory / 'broker.log').read_text()[-2000:]}"
                raise RuntimeError(message)
            time.sleep(0.05)

    def kill(self) -> None:
        """Kills the broker with SIGKILL; `start` runs it again with the same data, at the same address."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def resolve() -> None:
    """Downloads the jars of the broker, once.

    Raises:
        BrokerUnavailableError: if Java or Maven is missing, or Maven cannot download the jars.
    """
    if COMPLETE.exists() and COMPLETE.read_text() == POM.read_text():
        return
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            message = f"a Kafka broker needs {tool}, which is not installed"
            raise BrokerUnavailableError(message)
    shutil.rmtree(LIBRARIES, ignore_errors=True)
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={LIBRARIES}", "-DincludeScope=runtime"]
    done = subprocess.run(
        ["mvn", "--quiet", "--batch-mode", "--file", str(POM), *goal], capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"Maven could not get the jars of a Kafka broker: {(done.stdout + done.stderr).strip()[:500]}"
        raise BrokerUnavailableError(message)
    COMPLETE.write_text(POM.read_text())


def classpath() -> str:
    return str(LIBRARIES / "*")


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def java(main: str, *arguments: str, timeout_s: float = 120) -> str:
    """Runs a program from the jars and returns its stdout."""
    return _run(main, *arguments, timeout_s=timeout_s)


def _run(main: str, *arguments: str, timeout_s: float = 120) -> str:
    command = [*_JAVA, "-cp", classpath(), main, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)
    if done.returncode:
        message = f"{main} failed: {done.stdout}{done.stderr}"
        raise RuntimeError(message)
    return done.stdout


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")


def _configuration(directory: Path, port: int, secure_port: int, controller: int, changes: Mapping[str, object]) -> str:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    addresses = {"PLAINTEXT": port, "SASL_PLAINTEXT": secure_port}
    listeners = ",".join(f"{name}://127.0.0.1:{number}" for name, number in addresses.items())
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{login} required user_alice="wonderland";',
        "log.dirs": directory / "data",
        "auto.create.topics.enable": "false",
        "log.retention.ms": -1,  # tests write old timestamps
        "broker.session.timeout.ms": 3000,  # a killed broker can rejoin only after this time
        "broker.heartbeat.interval.ms": 500,
        "group.initial.rebalance.delay.ms": 0,
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
    }
    return "".join(f"{name}={value}\n" for name, value in {**settings, **changes}.items())


def main(port: int) -> None:
    with tempfile.TemporaryDirectory(prefix="headrace-kafka-") as directory:
        broker = Broker(Path(directory), port)
        broker.start()
        print(f"Kafka is at {broker.bootstrap_servers}, its data in {directory}. Ctrl-C stops it and removes them.")
        print(f"Try: headrace topics list --bootstrap-servers {broker.bootstrap_servers}", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            broker.kill()


if __name__ == "__main__":
    try:
        main(int(os.environ.get("PORT", "9092")) if len(sys.argv) < 2 else int(sys.argv[1]))
    except BrokerUnavailableError as problem:
        sys.exit(str(problem))
