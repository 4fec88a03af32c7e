"""The command line without Spark: descriptions, topics, errors, help."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from uuid import UUID

import pytest
from typer.testing import CliRunner

import headrace as hr
from headrace import Pending, PendingTask, Window, Windowed
from headrace._runtime.spark.state_directory.log import open_log
from headrace._state.log.entries import BatchPlan, Commit, Start
from headrace.cli.loading import load
from headrace.cli.output.progress import Meter, Rate, Totals
from headrace.cli.output.values import serde_named
from headrace.cli.program import program
from headrace.errors import known_names

APP = """\
import headrace as hr

builder = hr.StreamsBuilder()
(
    builder.stream("words")
    .filter(lambda key, value: value, name="non-empty")
    .group_by(lambda key, value: value, name="by-word")
    .count(store="counts")
    .to_stream()
    .to("totals")
)
topology = builder.build()
"""

SERDES = known_names(name for name in hr.serdes.__all__ if name not in ("Serde", "Registry", "serde_from"))


@pytest.fixture(autouse=True)
def in_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def headrace(*arguments, stdin=None):
    """What a command writes to stdout and stderr, and its exit code."""
    result = CliRunner().invoke(program, list(arguments), input=stdin)
    return result.stdout, result.stderr, result.exit_code


def app(source=APP, name="app.py"):
    Path(name).write_text(source)
    return name


def squeezed(text):
    """Words without the spaces and lines of a table."""
    return [line.split() for line in text.splitlines() if line.strip(" ─")]


def test_no_arguments_show_the_help():
    assert headrace()[0].rstrip() == headrace("--help")[0].rstrip()


def test_python_runs_the_command_line_as_a_module():
    done = subprocess.run([sys.executable, "-m", "headrace", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == headrace("--version")[0]


@pytest.mark.parametrize(
    ("command", "example"),
    [
        ((), "To begin, run: headrace demo, or headrace new my-app"),
        (("demo",), "Examples: headrace demo --directory my-demo"),
        (("new",), "Examples: headrace new my-app"),
        (("run",), "Examples: headrace run app.py --until-caught-up"),
        (("describe",), "Examples: headrace describe app.py"),
        (("store",), "Examples: headrace store app.py counts --limit 20"),
        (("reset",), "Examples: headrace reset app.py --dry-run"),
        (("topics", "list"), "Example: headrace topics list --topics-dir topics"),
        (("topics", "create"), "Example: headrace topics create clicks --partitions 4"),
        (("topics", "produce"), """Examples: echo 'alice:{"page": "/"}' | headrace topics produce clicks"""),
        (("topics", "consume"), "Examples: headrace topics consume clicks --limit 10"),
    ],
)
def test_help_of_every_command_has_an_example(command, example):
    stdout, stderr, code = headrace(*command, "--help")
    assert (example in stdout, stderr, code) == (True, "", 0)


def test_version():
    assert headrace("--version") == (f"headrace {hr.__version__}\n", "", 0)


def test_describe_prints_the_text_of_the_topology():
    assert headrace("describe", app()) == (load("app.py").topology.describe(), "", 0)


def test_describe_prints_a_mermaid_flowchart():
    assert headrace("describe", app(), "--format", "mermaid") == (load("app.py").topology.to_mermaid(), "", 0)


def test_describe_shows_patterns_of_topics():
    app("import re\n" + APP.replace('builder.stream("words"', 'builder.stream(re.compile("<in>.*")'))
    assert "(topics: <in>.*)" in headrace("describe", "app.py")[0]
    assert headrace("describe", "app.py", "--format", "html", "--output", "app.html")[2] == 0
    page = Path("app.html").read_text()
    assert "Reads <b>&lt;in&gt;.*</b>" in page
    svg = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])
    assert "<in>.*" in "".join(svg.itertext())


def test_describe_writes_a_self_contained_html_page():
    assert headrace("describe", app(), "--format", "html", "--output", "app.html") == ("Wrote app.html.\n", "", 0)
    page = Path("app.html").read_text()
    svg = ET.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])
    assert [title.text for title in svg.iter("{http://www.w3.org/2000/svg}title")] == [
        "KSTREAM-SOURCE-0000000000: source",
        "non-empty: filter",
        "by-word: select key",
        "by-word-repartition-filter: null key filter",
        "by-word-repartition-sink: sink",
        "by-word-repartition-source: source",
        "KSTREAM-AGGREGATE-0000000003: count",
        "KTABLE-TOSTREAM-0000000007: to stream",
        "KSTREAM-SINK-0000000008: sink",
        "words: topic",
        "by-word-repartition: repartition topic",
        "totals: topic",
    ]
    rest = page.replace("http://www.w3.org/2000/svg", "")
    assert [word for word in ("http:", "https:", "<script", "<link", "@import", "url(http") if word in rest] == []


def test_describe_names_another_topology_of_the_file():
    app(APP.replace("topology =", "second ="))
    assert headrace("describe", "app.py:second") == (load("app.py:second").topology.describe(), "", 0)


@pytest.mark.parametrize(
    ("source", "reference", "message"),
    [
        (
            APP,
            "other.py",
            "File 'other.py' does not exist. Python files in '{here}': 'app.py'.",
        ),
        (
            APP.replace("topology =", "second ="),
            "app.py",
            "app.py has no 'topology'. It defines the topologies 'second': choose one with app.py:second.",
        ),
        (
            APP,
            "app.py:builder",
            "app.py: 'builder' is a StreamsBuilder, not a Topology. Call its build(): topology = builder.build()",
        ),
        (
            APP.replace("topology =", "#"),
            "app.py",
            "app.py has no 'topology'. It has the StreamsBuilder 'builder': add the line topology = builder.build()",
        ),
        (
            "topology = 7\nother = 8\n",
            "app.py",
            "app.py has a 'topology' of type int, not a Topology. It defines: 'other', 'topology'. "
            "Add a line like: topology = builder.build()",
        ),
        (
            "def make():\n    pass\n",
            "app.py:make",
            "app.py has a function 'make', not a Topology. If it returns one, add the line: topology = make()",
        ),
        (
            APP,
            "apps.py",
            "File 'apps.py' does not exist. Did you mean 'app.py'? Python files in '{here}': 'app.py'.",
        ),
        (
            APP + "config = {'application.id': 'x'}\n",
            "app.py",
            "app.py: 'config' is a dict, not a StreamsConfig. Write config = hr.StreamsConfig(application_id=...), or "
            "hr.StreamsConfig.from_mapping(...) for Kafka's dotted names.",
        ),
        (
            "import headrace as hr\nhr.StreamsBuilder().stream('a').filter(3)\n",
            "app.py",
            "Cannot load app.py: TopologyError: filter() needs a function predicate(key, value); got 3 "
            "of type int.\n  at {here}/app.py:2: hr.StreamsBuilder().stream('a').filter(3)",
        ),
        (
            "import headrace as hr\nconfig = hr.StreamsConfig(\n    application_id='a', commit_interval=5\n)\n",
            "app.py",
            "Cannot load app.py: ConfigError: commit_interval is 5; it must be a timedelta of 0 or more.\n"
            "  at {here}/app.py:2: config = hr.StreamsConfig(",
        ),
        (
            "import headrace as hr\ndef add(builder):\n    builder.stream('a').to('')\nadd(hr.StreamsBuilder())\n",
            "app.py",
            "Cannot load app.py: TopologyError: '' cannot name a topic: allowed are 1-249 ASCII letters, digits, '.', "
            "'_' and '-', but not '.' or '..' alone.\n  at {here}/app.py:3 in add: builder.stream('a').to('')",
        ),
        (
            "import json\nrates = json.loads('{')\n",
            "app.py",
            "Cannot load app.py: JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 "
            "(char 1)\n  at {here}/app.py:2: rates = json.loads('{{')",
        ),
        (
            "x = 1\nx = = 2\n",
            "app.py",
            "Cannot load app.py: SyntaxError: invalid syntax\n  at {here}/app.py:2: x = = 2",
        ),
    ],
)
def test_an_error_about_a_missing_topology_lists_what_the_file_defines(tmp_path, source, reference, message):
    app(source)
    assert headrace("describe", reference) == ("", f"✗ Error\n{message.format(here=tmp_path)}\n", 1)


def test_a_command_of_a_group_says_how_to_write_it():
    message = "There is no command 'consume'. Write: headrace topics consume 'my topic' --limit 3"
    assert headrace("consume", "my topic", "--limit", "3") == ("", f"✗ Error\n{message}\n", 1)


def test_debug_lets_the_error_through_wherever_it_stands():
    result = CliRunner().invoke(program, ["describe", "missing.py", "--debug"])
    assert str(result.exception) == f"File 'missing.py' does not exist. Python files in '{Path.cwd()}': none."


def test_options_override_the_config_of_the_file():
    app(APP + "config = hr.StreamsConfig(application_id='mine', state_dir='s', spark={'a': '1'})\n")
    config = load("app.py").configured(topics_dir=None, application_id="other", spark={"b": "2"})
    shown = (config.application_id, str(config.topics_dir), str(config.state_dir), config.spark)
    assert shown == ("other", "topics", "s", {"a": "1", "b": "2"})


def test_a_state_directory_nobody_chose_follows_the_application_id():
    app(APP + "config = hr.StreamsConfig(application_id='mine', topics_dir='t')\n")
    config = load("app.py").configured(application_id="other")
    assert (str(config.topics_dir), str(config.state_dir)) == ("t", "headrace-state/other")


def test_a_file_without_config_is_an_application_of_its_own_name():
    config = load(app(name="my app.py")).configured()
    assert (config.application_id, str(config.topics_dir)) == ("my-app", "topics")


def test_run_refuses_missing_topics_before_spark_starts():
    headrace("topics", "create", "word")
    assert headrace("run", app()) == (
        "",
        "✗ TopicError\nThe topology reads topic 'words', which does not exist. Did you mean 'word'? Known topics: "
        "'word'. Create it with LocalTopics(...).create('words'), KafkaTopics(...).create('words') or "
        "`headrace topics create words`, with the --topics-dir or --bootstrap-servers of the application.\n",
        1,
    )


def test_run_refuses_a_spark_setting_without_value():
    message = "--spark 'spark.master' has no '='; write it as --spark spark.sql.shuffle.partitions=4"
    assert headrace("run", app(), "--spark", "spark.master") == ("", f"✗ Error\n{message}\n", 1)


def test_store_refuses_an_unknown_store_and_lists_the_known():
    message = "There is no store 'count'. Did you mean 'counts'? Known stores: 'counts'."
    assert headrace("store", app(), "count") == ("", f"✗ StateError\n{message}\n", 1)


def test_store_of_a_class_of_its_own_is_left_to_python():
    own = APP + '\nbuilder.add_state_store(hr.Stores.custom("own", list))\ntopology = builder.build()\n'
    message = (
        "Store 'own' is a custom store, whose entries this command cannot show. Read it in Python, with "
        "app.store('own').\n"
    )
    assert headrace("store", app(own), "own") == ("", f"✗ Error\n{message}", 1)


def test_store_of_an_application_that_never_ran_says_how_to_run_it():
    message = (
        "Application 'app' has no state in 'headrace-state/app': it has not run yet. Start it with: headrace run app.py"
    )
    assert headrace("store", app(), "counts") == ("", f"✗ Error\n{message}\n", 1)


FINAL = APP.replace(
    '.count(store="counts")',
    """.windowed_by(hr.TimeWindows.of(timedelta(seconds=5)))
    .emit_strategy(hr.EmitStrategy.on_window_close())
    .count(store="counts", name="count-words")""",
).replace("import headrace as hr", "from datetime import timedelta\n\nimport headrace as hr")


def test_store_shows_pending_results_and_what_releases_them(monkeypatch):
    tasks = (
        PendingTask("1_0", 2, Windowed("tea", Window(0, 5000)), 5000, 5000, None, 3500),
        PendingTask("1_1", 1, Windowed("rum", Window(5000, 10_000)), 10_000, 10_000, "rum", 6000),
        PendingTask("1_2", 0, stream_time_ms=7000),
    )
    monkeypatch.setattr(
        "headrace.cli.commands.store.read_pending", lambda *given: [Pending("count-words", "counts", tasks)]
    )
    open_log("headrace-state/app", "app").start(None, Start("app", "instance", 0, 5))
    stdout, stderr, code = headrace("store", app(FINAL), "counts", "--pending")
    sentence, *rows = stdout.splitlines()
    assert (stderr, code, sentence) == (
        "",
        0,
        "count-words: 3 windows wait in 2 of 3 tasks; the oldest is [tea@0/5000] in task 1_0; it closes when a record "
        "with timestamp 5000 or later arrives there (any key); stream time there is 3500.",
    )
    day = "1970-01-01 00:00:"
    assert [
        row.split("  ")[0] and [cell.strip() for cell in row.split("   ") if cell.strip()] for row in rows[3:6]
    ] == [
        ["1_0", "2", "[tea@0/5000]", f"{day}05.000", "any", f"{day}03.500"],
        ["1_1", "1", "[rum@5000/10000]", f"{day}10.000", "rum", f"{day}06.000"],
        ["1_2", "0", f"{day}07.000"],
    ]


def test_pending_is_refused_for_a_store_that_holds_nothing_back():
    _, stderr, code = headrace("store", app(), "counts", "--pending")
    assert (stderr.splitlines()[1].startswith("'counts' holds no results back."), code) == (True, 1)


def test_created_topics_are_listed_with_their_ends():
    assert headrace("topics", "list") == (
        "No topics in 'topics'. Create one with: headrace topics create clicks\n",
        "",
        0,
    )
    created = headrace("topics", "create", "clicks", "--partitions", "2")
    assert created == ("Created topic clicks with 2 partitions in topics.\n", "", 0)
    headrace("topics", "produce", "clicks", stdin="alice:1\nbob:2\nalice:3\n")
    assert squeezed(headrace("topics", "list")[0]) == [
        ["topic", "partitions", "records", "end", "offsets"],
        ["clicks", "2", "3", "1", "2"],
    ]


def test_retention_and_begin_offsets_are_listed():
    headrace("topics", "create", "clicks", "--partitions", "1", "--retention-ms", "60000", "--retention-bytes", "1")
    headrace("topics", "produce", "clicks", "--json", stdin='{"key": "alice", "value": 1, "timestamp_ms": 5}\n')
    headrace("topics", "produce", "clicks", stdin="bob:2\n")
    assert squeezed(headrace("topics", "list")[0]) == [
        ["topic", "partitions", "records", "begin", "offsets", "end", "offsets", "retention"],
        ["clicks", "1", "1", "1", "2", "retention.ms=60000,", "retention.bytes=1"],
    ]
    assert headrace("topics", "consume", "clicks")[0].split()[:2] == ["0", "1"]
    headrace("topics", "create", "table", "--partitions", "1", "--cleanup-policy", "compact")
    assert squeezed(headrace("topics", "list")[0])[-1] == ["table", "1", "0", "0", "0", "cleanup.policy=compact"]


def test_lines_become_records_and_are_printed_again():
    headrace("topics", "create", "clicks", "--partitions", "1")
    lines = (
        '{"key": "alice", "value": {"page": "/"}, "timestamp_ms": 1748772000123, "headers": {"trace": "7"}}\n'
        '\n{"key": "bob", "value": "text", "timestamp_ms": 5}\n{"value": null, "timestamp_ms": 6}\n'
    )
    assert headrace("topics", "produce", "clicks", "--json", stdin=lines) == ("3 records written to clicks.\n", "", 0)
    assert headrace("topics", "consume", "clicks") == (
        '   0        0  2025-06-01 10:00:00.123  alice             {"page": "/"}  [trace=7]\n'
        "   0        1  1970-01-01 00:00:00.005  bob               text\n"
        "   0        2  1970-01-01 00:00:00.006  null              null\n",
        "",
        0,
    )


def test_json_lines_of_one_topic_can_be_written_to_another():
    for topic in ("clicks", "copy"):
        headrace("topics", "create", topic, "--partitions", "3")
    headrace(
        "topics", "produce", "clicks", "--json", stdin='{"key":"a","value":1,"timestamp_ms":7,"headers":{"h":null}}\n'
    )
    lines, _, _ = headrace("topics", "consume", "clicks", "--json")
    assert list(map(json.loads, lines.splitlines())) == [
        {"partition": 1, "offset": 0, "timestamp_ms": 7, "key": "a", "value": 1, "headers": {"h": None}}
    ]
    headrace("topics", "produce", "copy", "--json", stdin=lines)
    assert headrace("topics", "consume", "copy", "--json") == (lines, "", 0)


@pytest.mark.parametrize(
    ("serde", "typed", "json_value"),
    [
        ("Long", "12", "12"),
        ("Double", "1.5", "1.5"),
        ("List:Long", "[1, null]", "[1, null]"),
        ("List:Uuid", '["12345678-1234-5678-1234-567812345678"]', '["12345678-1234-5678-1234-567812345678"]'),
        ("ChangeEvent:Long", '{"new": 2, "old": 1}', '{"new": 2, "old": 1, "is_latest": true}'),
        ("Bool", "true", "true"),
        ("string", "a:b", '"a:b"'),
        ("Bytes", "hi", '"aGk="'),
        ("Uuid", "12345678-1234-5678-1234-567812345678", '"12345678-1234-5678-1234-567812345678"'),
    ],
)
def test_values_of_each_serde_go_in_as_text_and_through_json_and_back(serde, typed, json_value):
    headrace("topics", "create", "t", "--partitions", "1")
    headrace("topics", "produce", "t", "--value-serde", serde, stdin=f"k:{typed}\n")
    headrace(
        "topics", "produce", "t", "--value-serde", serde, "--json", stdin=f'{{"key": "k", "value": {json_value}}}\n'
    )
    lines = headrace("topics", "consume", "t", "--value-serde", serde, "--json")[0].splitlines()
    assert [json.loads(line)["value"] for line in lines] == [json.loads(json_value)] * 2


@pytest.mark.parametrize("number", ["9007199254740993", "-18446744073709551617", "3"])
def test_numbers_are_rounded_to_a_double_in_text_and_in_json(number):
    headrace("topics", "create", "t", "--partitions", "1")
    headrace("topics", "produce", "t", "--value-serde", "Double", stdin=f"k:{number}\n")
    headrace(
        "topics", "produce", "t", "--value-serde", "Double", "--json", stdin=f'{{"key": "k", "value": {number}}}\n'
    )
    records = hr.LocalTopics("topics").read("t", value_serde=hr.serdes.Double())
    assert [record.value for record in records] == [float(number)] * 2


VALUES = {
    "Bool": True,
    "Bytes": b"\x00\xff",
    "ChangeEvent:Bytes": hr.Change(b"\xff", b"a"),
    "ChangeEvent:Json": hr.Change(None, {"a": [1]}),
    "ChangeEvent:List:Double": hr.Change([2.0**53, None], []),
    "Double": 2.0**64,
    "Float": 0.5,
    "Int": -1,
    "Json": {"a": [1, None, 1.5]},
    "List:Bytes": [b"\xff", None, b""],
    "List:Json": [{"a": 1}],
    "List:Uuid": [UUID(int=7)],
    "Long": 2**63 - 1,
    "SessionWindowedKey": hr.Windowed("k", hr.Window(10, 30)),
    "Short": 1,
    "String": 'a: "b"',
    "Uuid": UUID(int=7),
    "Void": None,
    "WindowedKey:60000": hr.Windowed("k", hr.Window(60_000, 120_000)),
}


def test_values_of_every_serde_that_needs_no_python_are_listed_here():
    only_in_python = {"Avro", "JsonSchema", "Protobuf", "Registry", "Serde", "serde_from"}
    assert {name.partition(":")[0] for name in VALUES} == set(hr.serdes.__all__) - only_in_python


@pytest.mark.parametrize("part", ["key", "value"])
@pytest.mark.parametrize("name", VALUES)
def test_what_consume_prints_as_json_is_accepted_by_produce(name, part):
    for topic in ("t", "copy"):
        headrace("topics", "create", topic, "--partitions", "1")
    records = [hr.Record(**{"key": "k", "value": "v", part: value}, timestamp_ms=5) for value in (VALUES[name], None)]
    known = {"key_serde": hr.serdes.String(), "value_serde": hr.serdes.String(), f"{part}_serde": serde_named(name)}
    hr.LocalTopics("topics").produce("t", records, **known)
    options = ("--value-serde", "String", f"--{part}-serde", name, "--json")
    lines, _, _ = headrace("topics", "consume", "t", *options)
    headrace("topics", "produce", "copy", *options, stdin=lines)
    assert headrace("topics", "consume", "copy", *options) == (lines, "", 0)
    assert hr.LocalTopics("topics").read("copy", **known) == hr.LocalTopics("topics").read("t", **known)
    assert len(lines.splitlines()) == 2


def test_values_of_an_unnamed_serde_are_shown_as_bytes_with_a_hint():
    headrace("topics", "create", "t", "--partitions", "1")
    lines = '{"key": "a", "value": 258, "timestamp_ms": 0}\n'
    headrace("topics", "produce", "t", "--json", "--value-serde", "Long", stdin=lines)
    assert headrace("topics", "consume", "t") == (
        "   0        0  1970-01-01 00:00:00.000  a                 0x0000000000000102\n",
        "Choose the serde of the values with --value-serde Long or Double.\n",
        0,
    )


def test_headers_of_several_lines_are_shown_by_their_last():
    hr.LocalTopics("topics").create("t", partitions=1)
    headers = (("stacktrace", b"Traceback:\n  somewhere\nValueError: bad\n"), ("plain", b"1"))
    hr.LocalTopics("topics").produce("t", [hr.Record("a", 1, 0, headers)])
    shown = "   0        0  1970-01-01 00:00:00.000  a                 1  [stacktrace=… ValueError: bad]  [plain=1]\n"
    assert headrace("topics", "consume", "t") == (shown, "", 0)
    assert json.loads(headrace("topics", "consume", "t", "--json")[0])["headers"]["stacktrace"].startswith("Traceback:")


def test_consume_stops_at_its_limit():
    headrace("topics", "create", "t", "--partitions", "1")
    headrace(
        "topics", "produce", "t", "--json", stdin='{"value": 1, "timestamp_ms": 0}\n{"value": 2, "timestamp_ms": 0}\n'
    )
    assert headrace("topics", "consume", "t", "--limit", "1", "--follow") == (
        "   0        0  1970-01-01 00:00:00.000  null              1\n",
        "",
        0,
    )


@pytest.mark.parametrize(
    ("options", "stdin", "message"),
    [
        ((), "a:1\nb\n", "Line 2: there is no ':' in 'b'. Write key:value, or choose a --separator."),
        ((), "a:1\nb:x\n", "Line 2: 'x' is not a value of serde Json. Text goes in quotes, \"x\", or use String."),
        (("--value-serde", "Long"), "a:x\n", "Line 1: 'x' is not a value of serde Long."),
        (
            ("--value-serde", "List:Long"),
            "a:1,2\n",
            "Line 1: '1,2' is not a value of serde List. "
            "Write it as JSON, as `headrace topics consume --json` shows it.",
        ),
        (
            ("--value-serde", "List:Long"),
            "a:12\n",
            "Line 1: 12 is not a value of serde List: Expected `array`, got `int`",
        ),
        (
            ("--json", "--value-serde", "List:Uuid"),
            '{"value": ["x"]}\n',
            "Line 1: 'x' is not a value of serde Uuid: badly formed hexadecimal UUID string",
        ),
        (
            ("--json", "--value-serde", "ChangeEvent:Json"),
            '{"value": {"new": 1}}\n',
            "Line 1: {'new': 1} is not a value of serde ChangeEvent: Object missing required field `old`",
        ),
        (
            ("--json",),
            '{"valu": 1}\n',
            "Line 1: Object contains unknown field `valu`. A line looks like "
            '{"key": "alice", "value": 1, "timestamp_ms": 12}.',
        ),
        (
            ("--json",),
            '{"timestamp_ms": -1}\n',
            "Line 1: Malformed record: timestamp_ms is -1; a timestamp is 0 or greater.",
        ),
        (("--separator", ""), "", "--separator is empty; it must be at least one character."),
        (("--file", "none.txt"), "", "Cannot read 'none.txt': No such file or directory."),
        (
            ("--key-serde", "Strin"),
            "",
            f"There is no serde 'Strin'. Did you mean 'String'? Known: {SERDES}.",
        ),
    ],
)
def test_an_invalid_line_is_named_and_nothing_is_written(options, stdin, message):
    headrace("topics", "create", "t")
    assert headrace("topics", "produce", "t", *options, stdin=stdin) == ("", f"✗ Error\n{message}\n", 1)
    assert hr.LocalTopics("topics").describe("t").records == 0


def test_records_before_an_invalid_line_stay_with_commit_every():
    headrace("topics", "create", "t")
    code = headrace("topics", "produce", "t", "--commit-every", "2", stdin="a:1\nb:2\nc:3\nd\n")[2]
    assert (code, hr.LocalTopics("topics").describe("t").records) == (1, 2)


def test_records_are_read_from_a_file_with_its_own_separator():
    headrace("topics", "create", "t", "--partitions", "1")
    Path("lines.txt").write_text("a=1\nb==2\n")
    headrace("topics", "produce", "t", "--file", "lines.txt", "--separator", "=", "--value-serde", "String")
    records = hr.LocalTopics("topics").read("t", value_serde=hr.serdes.String())
    assert [(record.key, record.value) for record in records] == [("a", "1"), ("b", "=2")]


def test_an_error_about_an_unknown_topic_lists_the_known_ones():
    headrace("topics", "create", "clicks")
    message = "Topic 'click' does not exist. Did you mean 'clicks'? Known topics: 'clicks'. Create it first."
    assert headrace("topics", "consume", "click") == ("", f"✗ TopicError\n{message}\n", 1)


def test_only_new_records_need_follow():
    headrace("topics", "create", "t")
    message = "--from-end shows the records that arrive from now on; add --follow to wait for them."
    assert headrace("topics", "consume", "t", "--from-end") == ("", f"✗ Error\n{message}\n", 1)


@pytest.mark.parametrize("demo", ["rooms", "sensors"])
def test_demo_refuses_a_directory_that_is_in_use(demo):
    app()
    message = "'.' exists and is not an empty directory. Choose a new one for the demo."
    assert headrace("demo", demo, "--directory", ".") == ("", f"✗ Error\n{message}\n", 1)


def test_help_of_demo_says_what_each_shows():
    words = " ".join(headrace("demo", "--help")[0].replace("│", " ").split())
    assert "<rooms|sensors>" in words
    assert "rooms: a first tour" in words
    assert "sensors: devices that each send a whole day of readings" in words


def test_store_knows_the_times_of_keys_if_the_config_asks_for_them():
    windowed = APP.replace(".count(", ".windowed_by(hr.TimeWindows.of(timedelta(1)))\n    .count(name='n', ")
    app("from datetime import timedelta\n" + windowed)
    assert "There is no store 'n-stream-time-table'." in headrace("store", "app.py", "n-stream-time-table")[1]
    with Path("app.py").open("a") as file:
        file.write("config = hr.StreamsConfig(application_id='app', allow_stream_time_key_tracking=True)\n")
    assert "it has not run yet" in headrace("store", "app.py", "n-stream-time-table")[1]


def test_progress_has_the_counters_and_the_records_after_the_last_batch():
    headrace("topics", "create", "words", "--partitions", "1")
    headrace("topics", "produce", "words", stdin="a:1\nb:2\nc:3\n")
    meter = Meter(
        load(app()).topology._graph, hr.StreamsConfig(application_id="app", topics_dir="topics", state_dir="state")
    )
    assert meter.read() == Totals(batches=0, records_in=0, records_out=0, dead_letters=0, waiting=3)
    log = open_log("state", "app")
    counts = {"KSTREAM-SOURCE-0000000000": {"records_in": 2}, "topic totals": {"records_out": 1}}
    view = log.start(None, Start("app", "instance", 0, 5))
    assert meter.read() == Totals(batches=0, records_in=0, records_out=0, dead_letters=0, waiting=3)
    view = log.commit(view, Commit(9, 6, {"words-0": 2}, counts=counts))
    log.plan(view, BatchPlan(10, {"words-0": 3}))
    assert meter.read() == Totals(batches=10, records_in=2, records_out=1, dead_letters=0, waiting=1)
    headrace("topics", "produce", "words", stdin="d:4\n")
    assert meter.read() == Totals(batches=10, records_in=2, records_out=1, dead_letters=0, waiting=2)


def test_progress_continues_if_topics_cannot_be_read():
    headrace("topics", "create", "words", "--partitions", "1")
    meter = Meter(
        load(app()).topology._graph, hr.StreamsConfig(application_id="app", topics_dir="topics", state_dir="state")
    )
    Path("topics", "commits.log").write_text("damaged")
    assert meter.read() == Totals(batches=0, records_in=0, records_out=0, dead_letters=0, waiting=None)


def test_rate_is_that_of_the_last_seconds():
    rate = Rate(over_s=10)
    assert [rate.add(now_s, records) for now_s, records in [(0, 0), (5, 50), (10, 100), (20, 100), (30, 100)]] == [
        0.0,
        10.0,
        10.0,
        0.0,
        0.0,
    ]
