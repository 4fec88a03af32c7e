"""An archive of the classes that Spark's JVM loads, which halves the time that a local Spark needs to start.

Java calls it an AppCDS archive. Later JVMs map it into memory instead of loading ten thousand classes from jars. A JVM
that writes the archive starts slowly, so the JVM of a user's application never writes it. Instead, a background process
runs a small application that writes it, after the user's first application has ended; `headrace prepare` runs it at
once. The archive is a cache: Java ignores one that does not fit its version or its jars.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pyspark

from headrace._private import cache_directory, temporary_directory
from headrace._runtime.spark.session.spark_home import spark_home
from headrace.errors import ConfigError, TopicError
from headrace.topics.embedded.files import file_lock

_RETRIED_AFTER_S = 3600
_UNUSED_AFTER_S = 30 * 24 * 3600
_NICENESS = 19
_SETTINGS = ("-Xlog:disable", "-Xshare:auto")


def java_options(home: Path) -> list[str]:
    """Returns the options that make the JVM of a local session use the archive; none if there is no archive.

    Also sets the modification time of the archive, from which `_delete_unused` knows when it was last used.
    """
    directory = _directory()
    archive = None if directory is None else _archive(directory, home)
    if archive is None or not archive.exists():
        return []
    with suppress(OSError):  # the cache may be read-only
        os.utime(archive)  # `_delete_unused` spares archives that were used recently
    return [f"-XX:SharedArchiveFile={archive}", *_SETTINGS]


def write_if_missing() -> None:
    """Writes the archive in another process at low priority.

    Does nothing if the archive exists, another process is writing it, or writing it failed within the last hour.
    """
    directory = None if "SPARK_HOME" in os.environ else _directory()
    if directory is None:
        return
    archive = _own_archive(directory)
    failure = archive.with_suffix(".failed")
    with suppress(TopicError), file_lock(archive.with_suffix(".lock"), blocking=False) as is_locked:
        if is_locked and not archive.exists() and not _is_recent(failure):
            os.nice(_NICENESS)
            _delete_unused(directory)
            _write_in_another_process(archive)
            if not archive.exists():
                failure.touch()


def existing() -> Path | None:
    """The path of the archive of Java classes that a session of this Python uses; `None` if it is not written yet."""
    archive = _own_archive(cache_directory())
    return archive if archive.exists() else None


def prepare() -> Path:
    """Writes the archive now, unless it exists or another process has just written it, and returns its path.

    Raises:
        ConfigError: if the cache directory is not private, or Spark could not run.
    """
    archive = _own_archive(cache_directory())
    with file_lock(archive.with_suffix(".lock")):
        problem = "" if archive.exists() else _write_in_another_process(archive)
    if not archive.exists():
        message = f"The archive of Spark's Java classes was not written to {archive}: {problem or 'Spark wrote none.'}"
        raise ConfigError(message)
    archive.with_suffix(".failed").unlink(missing_ok=True)
    return archive


def _write_in_another_process(archive: Path) -> str:
    """Runs `write` in another process, and returns the last line that this process wrote to stderr.

    If there is no archive afterwards, that line is the reason.
    """
    written = archive.with_suffix(f".{os.getpid()}.new")
    try:
        done = subprocess.run(  # noqa: S603  fixed arguments
            [sys.executable, "-m", __name__, str(written)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        with suppress(FileNotFoundError):
            written.rename(archive)
    finally:
        written.unlink(missing_ok=True)
    return (done.stderr.strip().splitlines() or [""])[-1]


def write(archive: Path) -> None:
    """Runs a small application on Spark, whose JVM writes the archive when it ends."""
    import headrace as hr
    from headrace._runtime.spark.session.session import LOCAL_JAVA_OPTIONS

    builder = hr.StreamsBuilder()
    builder.stream("in").group_by(lambda _, value: value).count().to_stream().to("out")
    options = " ".join([LOCAL_JAVA_OPTIONS, f"-XX:ArchiveClassesAtExit={archive}", *_SETTINGS])
    with tempfile.TemporaryDirectory(prefix="archive-", dir=temporary_directory()) as directory:
        topics = hr.LocalTopics(Path(directory) / "topics")
        for name in ("in", "out"):
            topics.create(name, partitions=2)
        topics.produce("in", [hr.Record("key", "value", 0)])
        for partitions in (1, 2):  # in one task, and spread
            config = hr.StreamsConfig(
                application_id="class-archive",
                topics_dir=Path(directory) / "topics",
                state_dir=Path(directory) / f"state-{partitions}",
                local_dir=Path(directory) / "local",
                spark_partitions=partitions,
                spark={"spark.driver.extraJavaOptions": options},
            )
            with hr.Streams(builder.build(), config) as app:
                app.process_available()
        _await_end_of_jvm()


def _await_end_of_jvm() -> None:
    from pyspark import SparkContext

    jvm: subprocess.Popen[bytes] = SparkContext._gateway.proc
    assert jvm.stdin is not None
    jvm.stdin.close()
    jvm.wait()


def _delete_unused(directory: Path) -> None:
    """Deletes the archives that no local session has started with for a month, by their modification times.

    Every virtual environment has an archive of its own, of about 170 MB, so they would add up. A JVM that has mapped an
    archive can still read it after it was deleted.
    """
    for archive in directory.glob("classes-*.jsa"):
        if archive.stat().st_mtime < time.time() - _UNUSED_AFTER_S:
            archive.unlink(missing_ok=True)


def _is_recent(failure: Path) -> bool:
    """Whether writing the archive, which takes half a minute of processor time, has failed within the last hour."""
    with suppress(FileNotFoundError):
        return failure.stat().st_mtime > time.time() - _RETRIED_AFTER_S
    return False


def _own_archive(directory: Path) -> Path:
    return _archive(directory, spark_home(Path(pyspark.__file__).parent))


def _archive(directory: Path, home: Path) -> Path:
    java = shutil.which("java", path=f"{os.environ['JAVA_HOME']}/bin" if "JAVA_HOME" in os.environ else None)
    runtime = os.path.realpath(java) if java else ""
    identity = hashlib.sha256(f"{home}|{pyspark.__version__}|{runtime}".encode()).hexdigest()[:16]
    return directory / f"classes-{identity}.jsa"


def _directory() -> Path | None:
    """The cache directory; `None` if it is not private, because Java would run whatever another user put there."""
    with suppress(ConfigError):
        return cache_directory()
    return None


if __name__ == "__main__":
    write(Path(sys.argv[1]))
