"""Writes a folder of fixtures with this version: `python -m tests.formats.write NUMBER`.

A new folder gets the application of the folder before it. State is compacted, topics are consolidated and their commit
log is shortened early, so that a few records leave data of every form.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import headrace as hr
from headrace._state.changes.compaction import CompactionPolicy
from tests.formats.contents import FIXTURES, Application, load

_SMALL_STEPS = CompactionPolicy(min_delta_bytes=0, max_deltas=1, bytes_per_delta=1 << 40, min_step_bytes=4096)
_FAN_IN = 4
_SHORTEN_AFTER_BYTES = 5000


def write(folder: Path) -> None:
    """Writes state and topics after the first records, and what they contain then and after all records."""
    module, expected = load(folder), {}
    for variant in module.CONFIGS:
        shutil.rmtree(folder / variant, ignore_errors=True)
        with tempfile.TemporaryDirectory() as directory, _early_upkeep():
            app = Application(module, variant, Path(directory))
            _write_other_topics(app.topics)
            app.produce(module.FIRST)
            app.process("first run", limit=9)
            for name in ("state", "topics"):
                shutil.copytree(
                    app.directory / name, folder / variant / name, ignore=shutil.ignore_patterns("*lock", "spark")
                )
            before = app.contents()
            app.produce(module.SECOND)
            app.process("second run", limit=5)
            expected[variant] = {"before": before, "after": app.contents()}
    (folder / "expected.json").write_text(_to_json(expected))


def _to_json(expected: dict) -> str:
    """JSON with one line for each store and topic."""
    return re.sub(r"(?<=[\]}], )(?=\")", "\n", json.dumps(expected, sort_keys=True)).replace(", \n", ",\n") + "\n"


def _write_other_topics(topics: hr.LocalTopics) -> None:
    """Writes topics with a retention and with compaction, which the application does not read."""
    topics.create("compacted", partitions=1, cleanup_policy="compact")
    topics.create("bounded", partitions=1, retention_bytes=1000)
    for number in range(10):
        record = hr.Record(f"k{number % 3}", number, number, (("number", b"%d" % number),))
        topics.produce("compacted", [record])
        topics.produce("bounded", [record])


def _early_upkeep() -> ExitStack:
    stack = ExitStack()
    stack.enter_context(patch("headrace._state.changes.task_state.CompactionPolicy", lambda: _SMALL_STEPS))
    stack.enter_context(patch("headrace.topics.embedded.log._SHORTEN_AFTER_BYTES", _SHORTEN_AFTER_BYTES))
    for module in ("catalog", "log"):
        stack.enter_context(patch(f"headrace.topics.embedded.{module}.FAN_IN", _FAN_IN))
    return stack


def main(number: int) -> None:
    folder = FIXTURES / str(number)
    folder.mkdir(exist_ok=True)
    if not (folder / "app.py").exists():
        shutil.copyfile(FIXTURES / str(number - 1) / "app.py", folder / "app.py")
    write(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]))
