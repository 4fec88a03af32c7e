"""A Spark home whose Python workers start fast.

Spark points its workers to a zip archive of pyspark. It holds no compiled modules, so every worker process, of which a
query starts half a dozen, compiles pyspark anew for about a second. In a home without that archive they import the
installed pyspark instead, which is the same one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

_PARTS = ("bin", "data", "jars", "licenses", "sbin")


@contextmanager
def lean_spark_home() -> Iterator[Path | None]:
    """Lets a JVM started inside find the lean home, unless the user has chosen one: then there is none."""
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
    """The home for an installed pyspark; made once, in one step, and kept."""
    identity = hashlib.sha256(f"{installed}|{pyspark.__version__}|{os.getuid()}".encode()).hexdigest()[:16]
    home = Path(tempfile.gettempdir()) / f"headrace-spark-{identity}"
    if not home.is_dir():
        made = Path(tempfile.mkdtemp(prefix=f"{home.name}-"))
        for part in _PARTS:
            if (installed / part).exists():
                (made / part).symlink_to(installed / part)
        with suppress(OSError):
            made.rename(home)
    return home
