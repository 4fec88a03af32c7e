"""A Spark cluster on this machine: a master and workers in separate processes, each with its own directories."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyspark

import headrace
from headrace._runtime.spark.session.spark_home import spark_home
from tests.spark.test_kill import descendants
from tests.support.broker import answers, free_port

SPARK_HOME = spark_home(Path(pyspark.__file__).parent)
_UP_WITHIN_S = 120
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
_QUICK = ["--driver-java-options", _QUICK_JVM, "--conf", f"spark.executor.extraJavaOptions={_QUICK_JVM}"]
_CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class StandaloneCluster:
    """A standalone cluster on the loopback interface; every worker offers one core, so each gets one executor."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self.master = f"spark://127.0.0.1:{free_port()}"
        self.directory = directory
        self._workers = workers
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        host, _, port = self.master.removeprefix("spark://").rpartition(":")
        daemon = [str(SPARK_HOME / "bin" / "spark-class"), "org.apache.spark.deploy.master.Master"]
        self._launch("master", [*daemon, "--host", host, "--port", port, "--webui-port", "0"])
        for number in range(self._workers):
            daemon = [str(SPARK_HOME / "bin" / "spark-class"), "org.apache.spark.deploy.worker.Worker"]
            offered = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.worker(number) / "work")]
            self._launch(f"worker-{number}", [*daemon, "--host", host, "--webui-port", "0", *offered, self.master])
        log = self.directory / "master" / "log"
        self._await(lambda: log.read_text().count("Registering worker") == self._workers)

    def worker(self, number: int) -> Path:
        """The directory of a worker: logs, the directories of its executors, temporary files."""
        return self.directory / f"worker-{number}"

    def kill_executor(self, number: int) -> None:
        """Kills the executor of a worker and all its child processes."""
        for process in descendants(self._processes[f"worker-{number}"].pid):
            os.kill(process, signal.SIGKILL)

    def submit(self, application: Path, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """Runs `spark-submit` on a file."""
        options = [option for name, value in settings.items() for option in ("--conf", f"{name}={value}")]
        command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", self.master, *_QUICK, *options]
        return subprocess.Popen(
            [*command, str(application), *arguments],
            env=_environment(self.directory),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def connect_server(self) -> str:
        """Starts a Spark Connect server with executors in this cluster; returns its address."""
        port = free_port()
        binding = ["--conf", "spark.connect.grpc.binding.address=127.0.0.1"]
        binding += ["--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"]
        command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", self.master, *_QUICK, *binding]
        self._launch("connect", [*command, "--class", _CONNECT_SERVER])
        self._await(lambda: answers(port))
        return f"sc://127.0.0.1:{port}"

    def stop(self) -> None:
        """Stops all processes; executors end with their workers."""
        for process in reversed(self._processes.values()):
            process.terminate()
        for process in self._processes.values():
            process.wait(30)
        self._processes = {}

    def _launch(self, name: str, command: list[str]) -> None:
        directory = self.directory / name
        (directory / "tmp").mkdir(parents=True)
        with (directory / "log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command, env=_environment(directory), cwd=directory, stdout=log, stderr=log
            )

    def _await(self, condition: Callable[[], bool]) -> None:
        ends_s = time.monotonic() + _UP_WITHIN_S
        while not condition():
            if time.monotonic() > ends_s or any(process.poll() is not None for process in self._processes.values()):
                logs = "\n".join(path.read_text()[-1000:] for path in self.directory.glob("*/log"))
                self.stop()
                message = f"the cluster did not start: {logs}"
                raise RuntimeError(message)
            time.sleep(0.05)


def _environment(directory: Path) -> dict[str, str]:
    """Environment variables as on a separate machine that shares only the installation of Python and Spark."""
    return {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "640m",
        "SPARK_DAEMON_JAVA_OPTS": f"{_QUICK_JVM} -Djava.io.tmpdir={directory / 'tmp'}",
        "TMPDIR": str(directory / "tmp"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(headrace.__file__).parents[1]),
    }
