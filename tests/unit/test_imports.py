"""Imports between packages point one way, and neither the library nor the test driver needs Spark or Java."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import headrace

PACKAGE = Path(headrace.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

FORBIDDEN = {
    "_graph": (
        "headrace._core",
        "headrace._state",
        "headrace._runtime",
        "headrace.testing",
        "headrace.topics",
        "pyspark",
    ),
    "_core": ("headrace._graph", "headrace._runtime", "headrace.testing", "headrace.topics", "pyspark", "time", "os"),
    "_state": ("headrace._graph", "headrace._core", "headrace._runtime", "headrace.topics", "pyspark", "time"),
    "serdes": ("headrace._graph", "headrace._core", "headrace._runtime", "pyspark"),
    "model": ("headrace._graph", "headrace._core", "headrace._state", "headrace._runtime", "headrace.dsl", "pyspark"),
    "testing": ("headrace._runtime.spark", "pyspark"),
    "topics": ("headrace._graph", "headrace._runtime", "pyspark"),
}


def imported(path, *, types_too=True):
    nodes = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "headrace":
            yield from (f"headrace.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types_too:
            nodes += node.orelse
        else:
            nodes += ast.iter_child_nodes(node)


def within(module, package):
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_package_imports_point_one_way(folder):
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path in FILES
        if path.is_relative_to(PACKAGE / folder)
        for module in imported(path)
        for forbidden in FORBIDDEN[folder]
        if within(module, forbidden)
    ]
    assert wrong == []


def package_of(path):
    """The folder in `headrace` that a file is in, or the file itself."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_no_packages_import_each_other_even_indirectly():
    public = PACKAGE / "__init__.py"
    packages = {package_of(path) for path in FILES}
    imports = {
        package: {
            found
            for path in FILES
            if path != public and package_of(path) == package
            for module in imported(path, types_too=False)
            for found in module.split(".")[1:2]
            if module.startswith("headrace.") and found in packages - {package}
        }
        for package in packages
    }
    assert len(list(TopologicalSorter(imports).static_order())) == len(packages)  # raises a CycleError that names them


def test_pyspark_is_imported_only_by_the_spark_runtime_and_the_command_line():
    users = [
        path.relative_to(PACKAGE).parts[:2]
        for path in FILES
        if any(within(module, "pyspark") for module in imported(path))
    ]
    assert {user for user in users if user[0] != "cli"} == {("_runtime", "spark")}


def test_library_and_test_driver_import_no_pyspark_and_start_no_java():
    code = """
import sys, headrace, headrace.testing
sys.exit(any(module.split('.')[0] in ('pyspark', 'py4j', 'pandas', 'confluent_kafka') for module in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", code], env={"PATH": ""}, check=False).returncode == 0


def test_kafka_topics_without_the_client_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(headrace.ConfigError, match=r"pip install 'headrace\[kafka\]'"):
        headrace.KafkaTopics("localhost:9092").list()


@pytest.mark.parametrize("call", ["process_available", "start", "metrics"])
def test_running_without_pyspark_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    builder = headrace.StreamsBuilder()
    builder.stream("in").to("out")
    app = headrace.Streams(builder.build(), headrace.StreamsConfig(application_id="a", topics_dir="topics"))
    with pytest.raises(headrace.ConfigError, match=r"needs pyspark, .* pip install 'headrace\[spark\]'"):
        getattr(app, call)()


def test_library_does_not_import_what_only_some_serdes_need():
    code = """
import sys, headrace, headrace.testing
optional = ('fastavro', 'google', 'confluent_kafka', 'jsonschema', 'pydantic')
sys.exit(any(module.split('.')[0] in optional for module in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_public_names_exist():
    assert [name for name in headrace.__all__ if not hasattr(headrace, name)] == []
    assert [name for name in headrace.serdes.__all__ if not hasattr(headrace.serdes, name)] == []
