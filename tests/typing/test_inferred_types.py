"""mypy and pyright infer the types of every operator, and find mistakes."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.typing.any_in_signatures import any_in_signatures, exported

ROOT = Path(__file__).parents[2]
CHAINED = ("headrace.dsl", "headrace.model", "headrace.streams", "headrace.testing")
ACCEPTED, REFUSED = Path("tests/typing/accepted"), Path("tests/typing/refused")


def mypy(folder):
    """What mypy says about the files of a folder, by file and line."""
    strict = ["--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary", "--hide-error-context"]
    output = run("mypy", *strict, *map(str, sorted(folder.glob("*.py")))).stdout
    return by_line(re.findall(r"^(\S+):(\d+): error: (.*)$", output, re.MULTILINE), output)


def pyright(folder):
    """What pyright says about the files of a folder, by file and line."""
    output = run("basedpyright", "--outputjson", "--pythonpath", sys.executable, str(folder)).stdout
    report = json.loads(output)
    assert report["summary"]["filesAnalyzed"] > 0
    errors = [error for error in report["generalDiagnostics"] if error["severity"] == "error"]
    return by_line([(error["file"], error["range"]["start"]["line"] + 1, error["message"]) for error in errors])


def run(checker, *arguments):
    return subprocess.run(
        [sys.executable, "-m", checker, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


def by_line(errors, output=""):
    assert errors or "error" not in output, output
    found = defaultdict(str)
    for file, line, message in errors:
        found[Path(file).name, int(line)] += message
    return dict(found)


def expected_reasons(position):
    """The comments of the refused files: what mypy says, then what pyright says."""
    return {
        (file.name, number): line.partition("  # ")[2].rpartition(" | ")[position]
        for file in sorted((ROOT / REFUSED).glob("*.py"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "  # " in line
    }


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_chained_calls_are_inferred_as_written(checker):
    assert checker(ACCEPTED) == {}


def test_every_public_method_is_in_a_chain():
    chains = "".join(file.read_text() for file in (ROOT / ACCEPTED).glob("*.py"))
    missing = {
        f"{kind.__name__}.{name}"
        for kind in exported()
        if inspect.isclass(kind) and kind.__module__.startswith(CHAINED)
        for name, method in inspect.getmembers(kind, inspect.isroutine)
        if not name.startswith("_") and str(getattr(method, "__module__", "")).startswith(CHAINED)
        if f".{name}(" not in chains
    }
    assert missing == set()


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_mistakes_are_refused_for_the_right_reason(checker):
    expected, found = expected_reasons(0 if checker is mypy else 2), checker(REFUSED)
    assert {place: found[place] for place in found.keys() - expected.keys()} == {}
    accepted = sorted(expected.keys() - found.keys())
    assert accepted == []
    wrong = {place: (reason, found[place]) for place, reason in expected.items() if reason not in found[place]}
    assert wrong == {}


def test_any_is_written_only_where_a_value_may_be_of_any_type():
    """Stores by name, serdes that know no types, keys of any operator, metrics, settings, schemas, test records."""
    allowed = """
        ProcessorContext.state_store Streams.store TopologyTestDriver.store TopologyTestDriver.stores
        MockProcessorContext.state_store MockProcessorContext.app_configs MockProcessorContext.app_configs_with_prefix
        MockProcessorContext.key_serde MockProcessorContext.value_serde
        ProcessorContext.app_configs ProcessorContext.app_configs_with_prefix StreamsConfig.app_configs
        ProcessorContext.key_serde ProcessorContext.value_serde
        ProcessorStores.add_global_store ProcessorStores.add_read_only_state_store
        Topology.add_global_store Topology.add_read_only_state_store
        Topology.add_source Topology.add_sink StoreSpec.key_serde StoreSpec.value_serde
        Serde.with_default Wrapping.inner Wrapping.with_default
        ErrorHandlerContext.record PendingTask.oldest PendingTask.release_key Streams.metrics TopologyTestDriver.metrics
        StreamsConfig.default_key_serde StreamsConfig.default_value_serde StreamsConfig.kafka StreamsConfig.replace
        StreamsConfig.from_mapping
        Registry.id_of Registry.referenced Registry.schema Registry.version_of
        run_stream run_table
    """
    assert sorted(+any_in_signatures()) == sorted(allowed.split())
