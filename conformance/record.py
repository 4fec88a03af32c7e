"""Records the scenarios on the real Kafka Streams and compares the result with the committed goldens.

    python -m conformance.record             records everything again, fails if anything differs
    python -m conformance.record --update    overwrites the goldens
    python -m conformance.record count map   only these topologies

Needs a JDK 17 or newer and Maven; the first build downloads Kafka Streams, later ones need no network.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from conformance import generate

HERE = Path(__file__).parent
GOLDENS = HERE / "goldens"
RECORDER = HERE / "recorder"
_CLASSES = os.pathsep.join((str(RECORDER / "target/classes"), str(RECORDER / "target/lib/*")))
_JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SHOWN_LINES = 20
_SHOWN_WIDTH = 400


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m conformance.record", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("ids", nargs="*", help="topology ids; default: all")
    parser.add_argument("--update", action="store_true", help="overwrite the goldens with the recorded results")
    options = parser.parse_args(arguments)
    ids = options.ids or generate.topology_ids()
    build()
    with tempfile.TemporaryDirectory() as directory:
        scenarios, recorded = Path(directory, "scenarios"), Path(directory, "recorded")
        recorded.mkdir()
        generate.write(scenarios, ids)
        _run(["java", *_JVM_OPTIONS, "-cp", _CLASSES, "headrace.conformance.Recorder", str(scenarios), str(recorded)])
        if options.update:
            _update(recorded, everything=not options.ids)
            return 0
        return _compare(recorded, ids, everything=not options.ids)


def build() -> None:
    """Compiles the recorder, without the network if its dependencies are already on this machine."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            sys.exit(f"Recording needs {tool}, which is not on the PATH. Install a JDK 17 or newer and Maven.")
    command = ["mvn", "--quiet", "--batch-mode", "--file", str(RECORDER / "pom.xml"), "process-classes"]
    offline = subprocess.run([*command, "--offline"], capture_output=True, check=False)  # noqa: S603
    if offline.returncode:
        _run(command)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{command[0]} failed with exit code {done.returncode}.")


def _update(recorded: Path, *, everything: bool) -> None:
    GOLDENS.mkdir(exist_ok=True)
    if everything:
        for golden in GOLDENS.glob("*.json"):
            golden.unlink()
    for file in recorded.iterdir():
        shutil.copy(file, GOLDENS / file.name)
    print(f"Wrote {len(list(recorded.iterdir()))} goldens.")


def _compare(recorded: Path, ids: Sequence[str], *, everything: bool) -> int:
    differing = [topology_id for topology_id in ids if _differs(recorded, topology_id)]
    unknown = {golden.stem for golden in GOLDENS.glob("*.json")} - set(ids) if everything else set()
    for topology_id in sorted(unknown):
        print(f"{topology_id}: has a golden, but no scenario.")
    if differing or unknown:
        print(f"{len(differing) + len(unknown)} of {len(ids)} goldens differ from the results of Kafka Streams.")
        return 1
    print(f"All {len(ids)} goldens agree with Kafka Streams.")
    return 0


def _differs(recorded: Path, topology_id: str) -> bool:
    golden = GOLDENS / f"{topology_id}.json"
    before = golden.read_text() if golden.exists() else ""
    after = (recorded / golden.name).read_text()
    if before == after:
        return False
    print(f"{topology_id}: differs")
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "committed", "recorded", lineterm="", n=0)
    for line in list(lines)[:_SHOWN_LINES]:
        print("   ", line[:_SHOWN_WIDTH])
    return True


if __name__ == "__main__":
    sys.exit(main())
