"""The table of tested versions: `python -m tests.docs.versions` writes what is installed here to the page.

Run it where all tests have just passed: the page lists only what tests ran with.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import headrace
from headrace._runtime.spark.session import java

ROOT = Path(headrace.__file__).parents[1]
PAGE = ROOT / "docs" / "project" / "versions.md"
_HEAD = "| | allowed | tested with | used for |\n|---|---|---|---|\n"
_PACKAGES = {
    "pyspark": "running on Spark, classic and Connect",
    "pyarrow": "records in columns, state, embedded topics",
    "numpy": "columns",
    "lmdb": "replicas of stores",
    "msgspec": "JSON, the state log",
    "pandas": "Spark needs it",
    "protobuf": "`serdes.Protobuf`, Spark Connect",
    "grpcio": "Spark Connect",
    "confluent-kafka": "topics on Kafka, the schema registry",
    "fastavro": "`serdes.Avro`",
    "jsonschema": "`serdes.JsonSchema`",
    "pydantic": "`serdes.Json` with models",
    "typer": "the command line",
    "rich": "the command line",
}


class Row(NamedTuple):
    """One line of the table."""

    name: str
    allowed: str
    tested: str
    use: str

    def __str__(self) -> str:
        return f"| {' | '.join(self)} |\n"


def expected_rows() -> list[Row]:
    """The lines, with the versions of this environment as tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements: dict[str, str] = {}
    for group in (project["dependencies"], *project["optional-dependencies"].values()):
        for text in group:
            name, allowed = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?(.*)", text).groups()
            requirements.setdefault(name, allowed)
    broker, recorder = _kafka("tests/broker"), _kafka("conformance/recorder")
    return [
        Row("Python", project["requires-python"], platform.python_version(), "everything"),
        Row("Java", f">={java._MINIMUM}", _java_version(), "Spark; the test driver needs none"),
        *(Row(name, requirements[name], version(name), use) for name, use in _PACKAGES.items()),
        Row("Kafka broker", "-", broker, "tests with a broker (`tests/broker/pom.xml`)"),
        Row("Kafka Streams", "-", recorder, "recording the goldens (`conformance/recorder/pom.xml`)"),
    ]


def rows_of_the_page() -> list[Row]:
    table = PAGE.read_text().partition(_HEAD)[2].partition("\n\n")[0]
    return [Row(*line.strip("|").strip().split(" | ")) for line in table.splitlines()]


def write() -> None:
    before, _, rest = PAGE.read_text().partition(_HEAD)
    PAGE.write_text(before + _HEAD + "".join(map(str, expected_rows())) + "\n" + rest.partition("\n\n")[2])


def _java_version() -> str:
    if shutil.which("java") is None:
        return "none"
    shown = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    return re.search(r'version "([\d.]+)', shown)[1]


def _kafka(folder: str) -> str:
    return re.search(r"<kafka.version>(.+)</kafka.version>", (ROOT / folder / "pom.xml").read_text())[1]


if __name__ == "__main__":
    write()
