"""Breaks the rules of the core, one at a time, and checks that the goldens notice.

    python -m conformance.mutations [word ...]

Each rule is broken in a copy of the package; replaying the goldens on driver and plan must then fail. The exit code is
1 if it does not. With words, only rules that contain one of them are broken.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "recorder", "target")


class Mutation(NamedTuple):
    """A rule, and how to break it: in `file`, `right` becomes `wrong`."""

    rule: str
    file: str
    right: str
    wrong: str


MUTATIONS = (
    Mutation(
        "a window's result is emitted when stream time reaches its end plus grace, not later",
        "_core/operators/windows/suppress.py",
        "last_closed_end(time_ms, settings.wait_ms)",
        "last_closed_end(time_ms, settings.wait_ms) - 1",
    ),
    Mutation(
        "a suppressed row is due by the time of its first update",
        "_state/stores/suppress_buffer.py",
        "time_ms = buffer_time_ms if present is None else present.buffer_time_ms",
        "time_ms = buffer_time_ms",
    ),
    Mutation(
        "for windows without a result nothing is emitted",
        "_core/operators/windows/suppress.py",
        "if row.value is not None or not self.settings.until_window_closes:",
        "if True:",
    ),
    Mutation(
        "the old value of a suppressed update is the value that was emitted before it",
        "_state/stores/suppress_buffer.py",
        "prior = old if present is None else present.prior",
        "prior = old",
    ),
    Mutation(
        "the size of a suppressed row includes the old value and the value emitted before",
        "_state/stores/suppress_buffer.py",
        '(0 if old == prior else len(old or b""))',
        "0",
    ),
    Mutation(
        "a window accepts no more records once stream time reaches its end plus grace",
        "_core/operators/windows/time_windows.py",
        "if start_ms <= last_closed_ms:",
        "if start_ms < last_closed_ms:",
    ),
    Mutation(
        "a window of one's own accepts records until stream time reaches its own end plus grace",
        "_core/operators/windows/own_windows.py",
        "if window.end_ms <= last_closed_ms:",
        "if window.start_ms + self.windows.size_ms <= last_closed_ms:",
    ),
    Mutation(
        "the processor of a global store gets the headers of records",
        "_core/task/global_tables.py",
        "headers = columns.headers[row] if columns.headers else ()",
        "headers = ()",
    ),
    Mutation(
        "a merged session is deleted",
        "_core/operators/windows/session_windows.py",
        "self.forward(Record(session, Change(None, old), window.end_ms, record.headers))",
        "pass",
    ),
    Mutation(
        "a result has the highest timestamp of the records it was made of",
        "_core/laws.py",
        "return max(first_ms, second_ms)",
        "return first_ms",
    ),
    Mutation(
        "of several inputs the one with the smallest head timestamp goes first",
        "_core/task/order.py",
        "    if _is_sorted(columns):\n        return None",
        "    return None",
    ),
    Mutation(
        "an aggregate of None deletes its row, and the next record starts from nothing",
        "_state/stores/key_value.py",
        "self.contents.delete(key_bytes)\n        else:\n            self.contents.put(key_bytes, _TIMESTAMP.pack",
        "pass\n        else:\n            self.contents.put(key_bytes, _TIMESTAMP.pack",
    ),
    Mutation(
        "records without a value do not count",
        "_core/operators/aggregations/streams.py",
        "if value is None:",
        "if False:",
    ),
    Mutation(
        "records without a key do not pass a repartition",
        "_core/operators/stateless/filtering.py",
        "if key is None:",
        "if False:",
    ),
    Mutation(
        "a record takes the first branch whose predicate holds",
        "_core/operators/stateless/filtering.py",
        "                return\n",
        "",
    ),
    Mutation(
        "an extractor receives the highest timestamp of its partition so far",
        "_core/task/extraction.py",
        "partition_time_ms = max(partition_time_ms, timestamp_ms)",
        "partition_time_ms = timestamp_ms",
    ),
    Mutation(
        "the old value of a row is subtracted before the new one is added",
        "_core/operators/aggregations/tables.py",
        """\
        if aggregate is not None and change.old is not None:
            aggregate = self._subtractor(group, change.old, aggregate)
        if change.new is not None:
            aggregate = self._adder(group, change.new, self._initializer() if aggregate is None else aggregate)
""",
        """\
        if change.new is not None:
            aggregate = self._adder(group, change.new, self._initializer() if aggregate is None else aggregate)
        if before is not None and change.old is not None:
            aggregate = self._subtractor(group, change.old, aggregate)
""",
    ),
    Mutation(
        "a change within a group is one event",
        "_core/operators/aggregations/tables.py",
        "if old == new:\n            return True",
        "if old == new:\n            return False",
    ),
    Mutation(
        "where old values are known, rows that never existed are not deleted",
        "_core/operators/tables/functions.py",
        "and new is None and old is None",
        "and False",
    ),
    Mutation(
        "a left join with a global table emits a result for records that select no row",
        "_core/operators/joins/stream_table.py",
        "if row_key is None and not self._left:",
        "if row_key is None:",
    ),
    Mutation(
        "records without a value join no row of a global table",
        "_core/operators/joins/stream_table.py",
        "if value is None:",
        "if False:",
    ),
    Mutation(
        "a clock that jumps over several due times fires once",
        "_core/time/punctuation.py",
        "return point_ms + ((time_ms - point_ms) // interval_ms + 1) * interval_ms",
        "return point_ms + interval_ms",
    ),
    Mutation(
        "a punctuation's records carry the time that fired it",
        "_core/operators/processors/processor.py",
        "        self._now_ms = clock_ms\n",
        "        self._now_ms = 0\n",
    ),
    Mutation(
        "a record advances stream time before it is processed",
        "_core/task/task.py",
        """\
                if processors is not None:
                    processors.advance(timestamps[row])
                forward(record)
""",
        """\
                forward(record)
                if processors is not None:
                    processors.advance(timestamps[row])
""",
    ),
    Mutation(
        "both ends of join windows are included",
        "_core/operators/joins/stream_stream.py",
        "max(0, later(timestamp_ms, self._after_ms))",
        "max(0, later(timestamp_ms, self._after_ms - 1))",
    ),
    Mutation(
        "a joiner has the left value first, whichever side triggers",
        "_core/operators/joins/stream_stream.py",
        "return lambda key, right, left: joiner(key, left, right)",
        "return joiner",
    ),
    Mutation(
        "records with the same key and timestamp all join, in the order of arrival",
        "_state/layouts/entry_lists.py",
        "found.sort(key=_time)",
        "found = list(dict(found).items())",
    ),
    Mutation(
        "an unmatched record is emitted when stream time is beyond window and grace, not at their end",
        "_state/stores/unmatched.py",
        "return time_ms - self[is_left] - 1",
        "return time_ms - self[is_left]",
    ),
    Mutation(
        "a scan of unmatched records ends only when records of both sides have to wait",
        "_state/stores/unmatched.py",
        "return min((found[0] for found in behind if found is not None), default=stop_ms)",
        "return stop_ms",
    ),
    Mutation(
        "a record that finds a match no longer counts as unmatched",
        "_core/operators/joins/stream_stream_left_outer.py",
        "if self._other_is_outer:",
        "if False:",
    ),
    Mutation(
        "only a record at the current stream time emits unmatched records",
        "_core/operators/joins/stream_stream_left_outer.py",
        "if timestamp_ms == time_ms:",
        "if True:",
    ),
    Mutation(
        "a record whose window has ended does not wait for a match, whatever the grace",
        "_core/operators/joins/stream_stream_left_outer.py",
        "if self._last_match_ms(timestamp_ms) < time_ms:",
        "if max(0, timestamp_ms + self._own_wait_ms) < time_ms:",
    ),
    Mutation(
        "on an outer side a record without a key is emitted alone",
        "_core/operators/joins/stream_stream_left_outer.py",
        "if value is not None and self._is_outer:",
        "if False:",
    ),
    Mutation(
        "a search for due records ends at the second of several records of one key and time",
        "_state/stores/unmatched.py",
        "if len(_decode(stop)) > 1:",
        "if False:",
    ),
    Mutation(
        "a join asks only a side whose rows have results on their own for old values",
        "dsl/joins/table_table.py",
        "        if alone:",
        "        if True:",
    ),
    Mutation(
        "answers to a left row that has changed since are ignored",
        "_core/operators/foreign_keys/results.py",
        "return bool(changed) and changed.get(self._key_to_bytes(key), left) != left",
        "return False",
    ),
    Mutation(
        "stores are copied to a later stage, not what is computed from them",
        "_graph/stages.py",
        "before = () if is_elsewhere and isinstance(node, Suppress | CogroupMerge) else computed_from(node)",
        "before = () if is_elsewhere else computed_from(node)",
    ),
    Mutation(
        "a record is handed to a later stage when the turn of its child there comes",
        "_graph/stages.py",
        "return self._taken(parent, place, turn)",
        "return self._taken(parent, place, 0)",
    ),
)


def is_noticed(mutation: Mutation) -> bool:
    """Whether the replay fails when the rule is broken."""
    with tempfile.TemporaryDirectory(prefix="headrace-mutation-") as name:
        root = Path(name)
        for folder in ("headrace", "tests", "conformance"):
            shutil.copytree(ROOT / folder, root / folder, ignore=_NOT_COPIED)
        shutil.copy(ROOT / "pyproject.toml", root)
        broken = root / "headrace" / mutation.file
        source = broken.read_text()
        if source.count(mutation.right) != 1:
            sys.exit(f"{mutation.file} does not contain {mutation.right!r} exactly once; fix conformance/mutations.py.")
        broken.write_text(source.replace(mutation.right, mutation.wrong))
        return _replay(root) == 1


def _replay(root: Path) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-m", "not spark", "tests/golden"]
    # The current directory comes first on the path of `python -m`, so the copy's own package is the one tested.
    return subprocess.run(command, cwd=root, capture_output=True, check=False).returncode  # noqa: S603


def main(words: Sequence[str]) -> int:
    """Breaks all rules, or those that contain one of the words."""
    if _replay(ROOT):
        sys.exit("The goldens fail even with no rule broken; fix that first.")
    chosen = [one for one in MUTATIONS if not words or any(word in one.rule for word in words)]
    missed = 0
    with ThreadPoolExecutor(os.cpu_count()) as several:
        for mutation, noticed in zip(chosen, several.map(is_noticed, chosen), strict=True):
            missed += not noticed
            print(f"{'noticed' if noticed else 'MISSED '}  {mutation.rule}", flush=True)
    print(f"{len(chosen)} rules broken, {len(chosen) - missed} noticed.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
