"""Lists the public classes, methods and settings of Kafka Streams, as `javap` shows them in its jars."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path
from typing import NamedTuple

from conformance.record import RECORDER

LISTING = Path(__file__).parent / "kafka_streams.json"
_LIBRARIES = RECORDER / "target" / "lib"
_PACKAGE = "org.apache.kafka.streams."
_CLASS = re.compile(r"public .*?\b(?:class|interface|enum) ([\w.$]+)")
_METHOD = re.compile(r"([\w$]+)\([^()]*\)")
_CONSTANT = re.compile(r"([\w$]+)(?: = (.+))?;$")
_SETTING = re.compile(r'"([a-z]+(?:\.[a-z]+)+)"')
# Every object has these, or every enum.
_COMMON = {"equals", "hashCode", "toString", "valueOf", "values", "compareTo", "serialVersionUID"}


class Listing(NamedTuple):
    """Public names of Kafka Streams: those of its classes by class, without the package, and its settings."""

    kafka: str
    classes: dict[str, list[str]]
    settings: list[str]


def read_listing() -> Listing:
    """The committed listing."""
    return Listing(**json.loads(LISTING.read_text()))


def write_listing(listing: Listing) -> None:
    LISTING.write_text(json.dumps(listing._asdict(), indent=1) + "\n")


def list_jars() -> Listing:
    """The listing of the jars that the recorder uses; `conformance.record.build` downloads them."""
    jars = sorted(_LIBRARIES.glob("kafka-streams-*.jar"))
    version = jars[0].stem.removeprefix("kafka-streams-")
    classes: dict[str, set[str]] = {}
    settings: set[str] = set()
    for jar in jars:
        _list_jar(jar, classes, settings)
    return Listing(version, {name: sorted(members) for name, members in sorted(classes.items())}, sorted(settings))


def _list_jar(jar: Path, classes: dict[str, set[str]], settings: set[str]) -> None:
    with zipfile.ZipFile(jar) as archive:
        files = [name.removesuffix(".class") for name in archive.namelist() if name.endswith(".class")]
    names = [name.replace("/", ".") for name in files if "/internals/" not in name and not re.search(r"\$\d", name)]
    chosen = [name for name in names if name.startswith(_PACKAGE)]
    class_path = ":".join(map(str, _LIBRARIES.glob("*.jar")))
    command = ["javap", "-public", "-constants", "-cp", class_path, *chosen]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    members: set[str] = set()
    name = ""
    for line in shown.splitlines():
        if line.startswith("Compiled from"):
            name = ""
        elif line.endswith("{") and (found := _CLASS.match(line)):
            name = found[1].removeprefix(_PACKAGE)
            members = classes.setdefault(name, set())
        elif name:
            _add_member(line, name, members, settings)


def _add_member(line: str, class_name: str, members: set[str], settings: set[str]) -> None:
    method = _METHOD.search(line)
    if method is not None:
        # A constructor has the name of its class, with the package.
        if not line.split("(")[0].endswith(class_name) and method[1] not in _COMMON:
            members.add(method[1])
        return
    constant = _CONSTANT.search(line)
    if constant is None or constant[1] in _COMMON:
        return
    if class_name != "StreamsConfig":
        members.add(constant[1])
    elif constant[1].endswith("_CONFIG") and (setting := _SETTING.fullmatch(constant[2] or "")):
        settings.add(setting[1])
