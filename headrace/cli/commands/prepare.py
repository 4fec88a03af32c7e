"""`headrace prepare`: writes the cache that makes Spark start faster, for images and new machines."""

from __future__ import annotations

import os

from headrace._runtime.spark.session import class_archive
from headrace._runtime.spark.session.session import require_java
from headrace.cli.output.console import console
from headrace.errors import ConfigError


def prepare() -> None:
    """Writes the archive of Spark's Java classes, unless it exists."""
    if "SPARK_HOME" in os.environ:
        message = (
            f"SPARK_HOME is {os.environ['SPARK_HOME']!r}: there is nothing to prepare, because the archive of Java "
            "classes is only used with the Spark of the pyspark package. Unset SPARK_HOME to use that."
        )
        raise ConfigError(message)
    require_java()
    existing = class_archive.existing()
    if existing is not None:
        console().print(f"Nothing to do: the archive of Spark's Java classes exists.\n{existing}", soft_wrap=True)
        return
    with console().status("Starting Spark once, to write an archive of its Java classes (about a minute) ..."):
        archive = class_archive.prepare()
    console().print(
        "Wrote an archive of Spark's Java classes: applications of this user start faster now.\n"
        f"{archive} ({archive.stat().st_size >> 20} MB)",
        soft_wrap=True,
    )
