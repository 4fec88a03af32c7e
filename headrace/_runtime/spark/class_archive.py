"""An archive of the classes that Spark's JVM loads: with it a local Spark is there in about half the time.

Java calls it an AppCDS archive. The first local session of a user writes one as its JVM ends, which nobody waits for;
later ones map it into memory instead of loading ten thousand classes from jars. It is a cache: Java ignores one that
does not fit its version or its jars.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyspark

_WRITTEN_WITHIN_S = 120
_CLAIMED_FOR_S = 3600
_MAGIC = (0xF00BABA8).to_bytes(4, sys.byteorder)
_SETTINGS = ("-Xlog:disable", "-Xshare:auto")


def java_options(spark_home: Path) -> list[str]:
    """What tells the JVM of a local session to use the archive, or to write one; nothing where that cannot be done."""
    directory = _directory()
    if directory is None:
        return []
    archive = _archive(directory, spark_home)
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", *_SETTINGS]
    if not _is_first(archive.with_suffix(".writer")):
        return []
    written = archive.with_suffix(f".{os.getpid()}.new")
    return [f"-XX:ArchiveClassesAtExit={written}", *_SETTINGS]


def _is_first(claim: Path) -> bool:
    """Whether nobody else is about to write an archive: it takes a JVM ten seconds of processor time."""
    with suppress(FileNotFoundError):
        if claim.stat().st_mtime < time.time() - _CLAIMED_FOR_S:
            claim.unlink()
    try:
        with claim.open("x") as file:
            file.write(str(os.getpid()))
    except OSError:
        return False
    return True


def keep_written(process: int) -> None:
    """Takes over the archive that the JVM of a process, which has just ended, is writing; if it has claimed to."""
    directory = _directory()
    if directory is None or not any(claim.read_text() == str(process) for claim in directory.glob("*.writer")):
        return
    until_s = time.monotonic() + _WRITTEN_WITHIN_S
    while time.monotonic() < until_s:
        for written in directory.glob(f"*.{process}.new"):
            if _is_whole(written):
                written.replace(written.with_suffix("").with_suffix(".jsa"))
                return
        time.sleep(1)
    for written in directory.glob(f"*.{process}.new"):
        written.unlink(missing_ok=True)


def _is_whole(archive: Path) -> bool:
    """Whether Java has completed it: the header is written last."""
    with archive.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _archive(directory: Path, spark_home: Path) -> Path:
    java = shutil.which("java", path=f"{os.environ['JAVA_HOME']}/bin" if "JAVA_HOME" in os.environ else None)
    runtime = os.path.realpath(java) if java else ""
    identity = hashlib.sha256(f"{spark_home}|{pyspark.__version__}|{runtime}".encode()).hexdigest()[:16]
    return directory / f"classes-{identity}.jsa"


def _directory() -> Path | None:
    """A directory that only this user can write, since Java runs what lies in it."""
    base = os.environ.get("XDG_CACHE_HOME")
    directory = (Path(base) if base else Path.home() / ".cache") / "headrace"
    with suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return directory
    return None
