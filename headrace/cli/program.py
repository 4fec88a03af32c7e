"""The commands and their options. Each command is implemented in the module of its name in `commands`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import headrace
from headrace.cli.commands.topics import KafkaSettings, Servers, topics
from headrace.cli.demos.failing import Commands
from headrace.cli.output.values import pairs


class Format(StrEnum):
    """How `describe` shows a topology."""

    TEXT = "text"
    MERMAID = "mermaid"
    HTML = "html"


class Demo(StrEnum):
    """The demos that `headrace demo` can run."""

    ROOMS = "rooms"
    SENSORS = "sensors"


program = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Kafka Streams' programming model in Python, executed by Apache Spark.",
    epilog="To begin, run: headrace demo, or headrace new my-app",
)
program.add_typer(topics, name="topics")

App = Annotated[
    str,
    typer.Argument(
        metavar="APP.PY[:NAME]",
        help="Python file with the topology in a variable, topology or NAME, and perhaps its settings in config.",
    ),
]
TopicsDir = Annotated[
    Path | None, typer.Option(help="Directory of the embedded topics.", show_default="the config's, or topics")
]
StateDir = Annotated[
    Path | None,
    typer.Option(help="Directory of the application's state.", show_default="the config's, or headrace-state/<id>"),
]
ApplicationId = Annotated[
    str | None, typer.Option(help="Id of the application.", show_default="the config's, or the file's name")
]


@topics.command("check", epilog="Example: headrace topics check app.py")
def check_topics(
    app: App,
    keys: Annotated[int, typer.Option(min=1, help="How many keys of each partition to check: the newest.")] = 200,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
) -> None:
    """Samples the keys of an application's input topics: are they in the partitions where joins expect them?

    Kafka's Java clients choose partitions by murmur2, clients based on librdkafka by CRC32 unless set otherwise. A join
    of topics that are partitioned by different rules misses rows. If that is so, the exit code is 1.
    """
    from headrace.cli import loading
    from headrace.cli.commands import check

    loaded = loading.load(app)
    options = {"topics_dir": topics_dir, "bootstrap_servers": bootstrap_servers, "kafka": pairs("--kafka", kafka)}
    check.check_topics(loaded, loaded.configured(**options), keys=keys)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"headrace {headrace.__version__}")
        raise typer.Exit


@program.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the full traceback of an error; allowed at any position.")
    ] = False,
) -> None:
    pass


@program.command(
    epilog="""Examples: headrace demo --directory my-demo

    headrace demo sensors"""
)
def demo(
    name: Annotated[
        Demo,
        typer.Argument(
            help="rooms: a first tour, from the input topic to the output topic, across a restart. sensors: devices "
            "that each send a whole day of readings, one device after the other; processed with one stream time for "
            "all devices, and with a stream time for each."
        ),
    ] = Demo.ROOMS,
    directory: Annotated[
        Path | None,
        typer.Option(help="New directory for the demo's files, which stay there.", show_default="a temporary one"),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Do not delete the temporary directory.")] = False,
) -> None:
    """Runs a small application on local Spark and shows what happens, step by step. Takes a minute; needs Java."""
    from headrace.cli.demos import guide, sensors_tour, tour

    guide.run_demo(sensors_tour.GUIDE if name is Demo.SENSORS else tour.GUIDE, directory, keep=keep)


@program.command(
    epilog="""Examples: headrace new my-app

    headrace new my-app --kafka"""
)
def new(
    directory: Annotated[
        Path, typer.Argument(help="New directory of the project. Its last part is the name of the application.")
    ],
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Read and write topics on Kafka instead of embedded topics.")
    ] = False,
) -> None:
    """Writes a small project: an application, its tests, sample input, a Makefile, a CI workflow and a Dockerfile."""
    from headrace.cli.new_project.project import write_project

    write_project(directory, kafka=kafka)


@program.command(epilog="In a Dockerfile, after USER: RUN headrace prepare")
def prepare() -> None:
    """Makes Spark start faster on this machine or in this image: writes an archive of its Java classes (170 MB).

    Without this command, the first application that ends writes the archive, in the background. Takes a minute; needs
    Java.
    """
    from headrace.cli.commands import prepare as preparing

    preparing.prepare()


@program.command(
    epilog="""Examples: headrace run app.py --until-caught-up

    headrace run app.py:other_topology --topics-dir topics --state-dir state"""
)
def run(
    app: App,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Process all available records, then exit.")
    ] = False,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
    state_dir: StateDir = None,
    application_id: ApplicationId = None,
    max_records_per_batch: Annotated[
        int | None,
        typer.Option(help="Maximum number of records in a micro-batch.", show_default="the config's, or 1000000"),
    ] = None,
    spark: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
    ] = None,
) -> None:
    """Runs an application on local Spark and shows its progress. Ctrl-C and SIGTERM stop it after the current batch.

    The application continues where its last run stopped. Options override the file's config.
    """
    from headrace.cli import loading
    from headrace.cli.commands import run as running

    loaded = loading.load(app)
    config = loaded.configured(
        topics_dir=topics_dir,
        bootstrap_servers=bootstrap_servers,
        kafka=pairs("--kafka", kafka),
        state_dir=state_dir,
        application_id=application_id,
        max_records_per_batch=max_records_per_batch,
        spark=pairs("--spark", spark, "spark.sql.shuffle.partitions=4"),
    )
    running.run(loaded, config, until_caught_up=until_caught_up)


@program.command(
    epilog="""Examples: headrace describe app.py

    headrace describe app.py --format html --output app.html"""
)
def describe(
    app: App,
    form: Annotated[
        Format, typer.Option("--format", help="Kafka Streams' text format, a Mermaid flowchart, or an HTML page.")
    ] = Format.TEXT,
    output: Annotated[Path | None, typer.Option(help="Write to this file.", show_default="stdout")] = None,
) -> None:
    """Shows the topology of an application: sources, processors, stores, sinks. Does not run it."""
    from headrace.cli import loading
    from headrace.cli.drawing.page import html_page

    loaded = loading.load(app)
    if form is Format.HTML:
        text = html_page(loaded.topology, title=loaded.path.stem)
    else:
        text = loaded.topology.describe() if form is Format.TEXT else loaded.topology.to_mermaid()
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        typer.echo(f"Wrote {output}.")


@program.command(
    epilog="""Examples: headrace store app.py counts --limit 20

    headrace store app.py counts --key alice

    headrace store app.py final-store --pending"""
)
def store(
    app: App,
    name: Annotated[str, typer.Argument(metavar="STORE", help="Name of the store, as passed to store=.")],
    key: Annotated[str | None, typer.Option(help="Show only the entries of this key.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of entries shown.")] = 100,
    pending: Annotated[
        bool, typer.Option("--pending", help="Show which results the store holds back, and what would release them.")
    ] = False,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
    state_dir: StateDir = None,
    application_id: ApplicationId = None,
) -> None:
    """Shows the entries of a state store, as of the last committed batch. The application need not be running."""
    from headrace.cli import loading
    from headrace.cli.commands.store import show_pending, show_store

    loaded = loading.load(app)
    config = loaded.configured(
        topics_dir=topics_dir,
        bootstrap_servers=bootstrap_servers,
        kafka=pairs("--kafka", kafka),
        state_dir=state_dir,
        application_id=application_id,
    )
    if pending:
        show_pending(loaded, config, name)
    else:
        show_store(loaded, config, name, key=key, limit=limit)


@program.command(
    epilog="""Examples: headrace reset app.py --dry-run

    headrace reset app.py --bootstrap-servers localhost:9092 --yes"""
)
def reset(
    app: App,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")] = False,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
    state_dir: StateDir = None,
    application_id: ApplicationId = None,
) -> None:
    """Resets an application, so that its next run starts from the beginning: deletes its state and its offsets.

    Topics stay as they are, so the next run appends all of the output again. The application must not be running.
    """
    from headrace.cli import loading
    from headrace.cli.commands import reset as resetting

    loaded = loading.load(app)
    config = loaded.configured(
        topics_dir=topics_dir,
        bootstrap_servers=bootstrap_servers,
        kafka=pairs("--kafka", kafka),
        state_dir=state_dir,
        application_id=application_id,
    )
    resetting.reset(loaded, config, yes=yes, dry_run=dry_run)
