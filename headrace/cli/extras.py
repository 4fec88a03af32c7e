"""What to do if a command needs a package that is not installed. This module needs nothing but Python itself."""

from __future__ import annotations

import shlex
import sys

_EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "pyspark": "spark",
    "pandas": "spark",
    "confluent_kafka": "kafka",
}


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """Says how to install a missing package of an extra; `None` if the package belongs to no extra of the commands."""
    module = (error.name or "").partition(".")[0]
    if module not in _EXTRAS:
        return None
    extras = "spark,cli,kafka" if module == "confluent_kafka" else "spark,cli"
    command = shlex.join(["headrace", *sys.argv[1:]])
    return (
        f"{command} needs {module}, which is not installed. It comes with the extra {_EXTRAS[module]!r}:\n"
        f"  pip install 'headrace[{extras}]'\n"
        "Or, without installing anything:\n"
        f"  uvx --from 'headrace[{extras}]' {command}\n"
        f"  pipx run --spec 'headrace[{extras}]' {command}"
    )
