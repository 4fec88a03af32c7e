"""A Spark home whose Python workers start fast.

Spark's workers import pyspark from a zip archive. It has no compiled modules, so each of the half dozen workers of a
query spends about a second compiling pyspark. In a home without that archive they import the installed pyspark, which
is the same version.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from headrace._private import temporary_directory

_PARTS = ("bin", "data", "jars", "licenses", "sbin")


@contextmanager
def lean_spark_home() -> Iterator[Path | None]:
    """Makes a JVM that is started inside the block use the lean home; yields `None` if the user has set SPARK_HOME."""
    installed = Path(pyspark.__file__).parent
    if "SPARK_HOME" in os.environ or not (installed / "jars").is_dir():
        yield None
        return
    home = spark_home(installed)
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield home
    finally:
        del os.environ["SPARK_HOME"]


def spark_home(installed: Path) -> Path:
    """Returns a Spark home without the zip archive of pyspark; the first call creates it, atomically."""
    identity = hashlib.sha256(f"{installed}|{pyspark.__version__}".encode()).hexdigest()[:16]
    home = temporary_directory() / f"spark-{identity}"
    if not home.is_dir():
        made = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=home.parent))
        for part in _PARTS:
            if (installed / part).exists():
                (made / part).symlink_to(installed / part)
        with suppress(OSError):
            made.rename(home)
    return home
