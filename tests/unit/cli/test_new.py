"""`headrace new`: the project that it writes passes its own tests, and its commands work."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headrace as hr
from headrace.cli.loading import load
from headrace.cli.program import program

ROOT = Path(hr.__file__).parents[1]
FILES = [
    ".dockerignore",
    ".github/workflows/test.yml",
    ".gitignore",
    "Dockerfile",
    "Makefile",
    "README.md",
    "app.py",
    "orders.jsonl",
    "pyproject.toml",
    "test_app.py",
]
CREATED = """\
Created my-app:

  app.py                      the topology and the settings of the application
  test_app.py                 its tests, which need neither Java nor Spark
  orders.jsonl                sample input
  pyproject.toml              the packages it needs
  Makefile                    short names for the commands
  .github/workflows/test.yml  runs the tests on GitHub
  Dockerfile                  an image with Java, Spark and the application
  README.md                   how to test, run and change it

Next:

  cd my-app
  make setup   creates .venv with Headrace, Spark and pytest
  make test    runs the tests
  make input   writes orders.jsonl to the topic orders
  make run     processes it on Spark; needs Java 17 or newer
  make output  shows the topic totals
"""


@pytest.fixture(autouse=True)
def in_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def headrace(*arguments):
    result = CliRunner().invoke(program, list(arguments))
    return result.stdout, result.stderr, result.exit_code


def in_project(*command):
    """Runs a command in the project, as a user who has installed this Headrace."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *command], cwd="my-app", env=environment, capture_output=True, text=True, check=False
    )


def test_the_files_and_the_next_steps_are_shown():
    assert headrace("new", "my-app") == (CREATED, "", 0)
    written = sorted(path.relative_to("my-app").as_posix() for path in Path("my-app").rglob("*") if path.is_file())
    assert written == FILES
    assert [name for name in FILES if "{{" in Path("my-app", name).read_text()] == []


@pytest.mark.parametrize("options", [(), ("--kafka",)], ids=["embedded", "kafka"])
def test_tests_of_the_project_pass_and_its_topology_can_be_shown(options):
    headrace("new", "my-app", *options)
    tested = in_project("-m", "pytest", "-q", "-W", "error")
    assert (tested.stdout.splitlines()[-1].split(" in ")[0], tested.returncode) == ("4 passed", 0)
    shown = in_project("-c", "from headrace.cli import main; main()", "describe", "app.py")
    assert (shown.stdout, shown.stderr) == (load("my-app/app.py").topology.describe(), "")


@pytest.mark.parametrize("options", [(), ("--kafka",)], ids=["embedded", "kafka"])
def test_code_of_the_project_is_formatted_and_has_no_findings(options):
    headrace("new", "my-app", *options)
    for arguments in (["check", "--isolated", "--select", "E,F,I,UP,B"], ["format", "--isolated", "--check"]):
        done = in_project("-m", "ruff", *arguments, "--line-length", "120", "app.py", "test_app.py")
        assert done.returncode == 0, done.stdout


def test_config_has_embedded_topics_and_state_in_one_directory():
    headrace("new", "my-app")
    config = load("my-app/app.py").config
    data = Path("my-app/data").absolute()
    assert (config.application_id, config.topics_dir, config.state_dir) == ("my-app", data / "topics", data / "state")


def test_config_of_a_project_for_kafka_has_the_brokers(monkeypatch):
    stdout, _, _ = headrace("new", "my-app", "--kafka")
    note = "Kafka is expected at localhost:9092; set KAFKA_BOOTSTRAP_SERVERS if it is elsewhere."
    assert stdout == f"{CREATED}\n{note}\n"
    assert load("my-app/app.py").config.bootstrap_servers == "localhost:9092"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "kafka-1:9092")
    assert load("my-app/app.py").config.bootstrap_servers == "kafka-1:9092"


@pytest.mark.parametrize(
    ("options", "extras"), [((), "spark,cli"), (("--kafka",), "spark,cli,kafka")], ids=["embedded", "kafka"]
)
def test_the_project_needs_this_minor_version_with_the_extras_it_uses(options, extras):
    headrace("new", "my-app", *options)
    project = tomllib.loads(Path("my-app/pyproject.toml").read_text())["project"]
    major, minor, _ = hr.__version__.split(".")
    needed = f"headrace[{extras}]>={major}.{minor},<{major}.{int(minor) + 1}"
    assert (project["name"], project["dependencies"]) == ("my-app", [needed])
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(ours["optional-dependencies"])
    assert project["requires-python"] == ours["requires-python"]


def test_an_empty_directory_is_filled():
    Path("my-app").mkdir()
    assert headrace("new", "my-app") == (CREATED, "", 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "My App!",
            "'My App!' cannot be the name of a project: it needs 1 to 100 letters, digits, '.', '_' and '-', and "
            "begins and ends with a letter or digit. Try: headrace new My-App",
        ),
        (
            "apps/-app",
            "'-app' cannot be the name of a project: it needs 1 to 100 letters, digits, '.', '_' and '-', and "
            "begins and ends with a letter or digit. Try: headrace new apps/app",
        ),
        ("headrace", "'headrace' is the name of a package that the project needs. Try: headrace new my-headrace"),
        (
            "used",
            "'used' exists and is not an empty directory. Choose another name, or delete it if you do not need it.",
        ),
    ],
)
def test_bad_names_and_directories_in_use_are_refused_and_nothing_is_written(name, message):
    Path("used").mkdir()
    Path("used/file").touch()
    assert headrace("new", name) == ("", f"✗ Error\n{message}\n", 1)
    assert sorted(path.as_posix() for path in Path().rglob("*")) == ["used", "used/file"]


def test_makefile_dockerfile_and_workflow_call_commands_that_exist():
    headrace("new", "my-app")
    texts = [Path("my-app", name).read_text() for name in ("Makefile", "README.md", ".github/workflows/test.yml")]
    targets = {line.split(":")[0] for line in texts[0].splitlines() if line and line[0].isalpha() and ":" in line}
    called = [
        word
        for text in texts[1:]
        for line in text.split("make ")[1:]
        for word in line.split("`")[0].split("\n")[0].split()
    ]
    assert [target for target in called if target not in targets] == []
    copied = Path("my-app/Dockerfile").read_text().split("COPY ")[1].split(" ./")[0].split()
    assert [name for name in copied if not Path("my-app", name).is_file()] == []
