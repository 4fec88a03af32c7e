"""The commands and their options; what each does is written in the module of its name."""

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
    """What there is to see."""

    ROOMS = "rooms"
    SENSORS = "sensors"


program = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Kafka Streams' programming model in Python, executed by Apache Spark.",
    epilog="Begin with: headrace demo",
)
program.add_typer(topics, name="topics")

App = Annotated[str, typer.Argument(metavar="APP.PY[:NAME]", help="File that defines topology, and may define config.")]
TopicsDir = Annotated[
    Path | None, typer.Option(help="Directory of the topics.", show_default="the config's, or topics")
]
StateDir = Annotated[
    Path | None, typer.Option(help="Directory of the state.", show_default="the config's, or headrace-state/<id>")
]
ApplicationId = Annotated[
    str | None, typer.Option(help="Name of the application.", show_default="the config's, or the file's name")
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"headrace {headrace.__version__}")
        raise typer.Exit


@program.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of an error; may stand anywhere.")
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
            help="rooms: a first tour, from topic to topic, over a restart. sensors: devices that send a day of "
            "readings each, one after the other, with one clock for all and with a clock for each."
        ),
    ] = Demo.ROOMS,
    directory: Annotated[
        Path | None, typer.Option(help="A new directory, which is kept.", show_default="a temporary one")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary directory too.")] = False,
) -> None:
    """Runs a small application on local Spark and shows what happens, step by step. Takes a minute; needs Java."""
    from headrace.cli.demos import guide, sensors_tour, tour

    guide.give(sensors_tour.GUIDE if name is Demo.SENSORS else tour.GUIDE, directory, keep=keep)


@program.command(
    epilog="""Examples: headrace run app.py --until-caught-up

    headrace run app.py:other_topology --topics-dir topics --state-dir state"""
)
def run(
    app: App,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Process all records there are, then end.")
    ] = False,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
    state_dir: StateDir = None,
    application_id: ApplicationId = None,
    max_records_per_batch: Annotated[
        int | None, typer.Option(help="Most records in a micro-batch.", show_default="the config's, or 1000000")
    ] = None,
    spark: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
    ] = None,
) -> None:
    """Runs an application on local Spark and shows its progress. Ctrl-C and SIGTERM stop it after the running batch.

    It goes on where its last run stopped. Options here override the file's config.
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
        Format, typer.Option("--format", help="Kafka Streams' text, a Mermaid flowchart, or one HTML page.")
    ] = Format.TEXT,
    output: Annotated[Path | None, typer.Option(help="Write to this file.", show_default="stdout")] = None,
) -> None:
    """Shows the topology of an application: sources, processors, stores, sinks. Nothing is run."""
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
    name: Annotated[str, typer.Argument(metavar="STORE", help="Name of the store, as in store=.")],
    key: Annotated[str | None, typer.Option(help="Show the entry of this key only.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most entries shown.")] = 100,
    pending: Annotated[
        bool, typer.Option("--pending", help="Say what waits in it to be written, and what would let it go.")
    ] = False,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
    state_dir: StateDir = None,
    application_id: ApplicationId = None,
) -> None:
    """Shows what is in a state store, as the last committed batch left it. The application need not run."""
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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")] = False,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
    state_dir: StateDir = None,
    application_id: ApplicationId = None,
) -> None:
    """Lets an application start from the beginning again: deletes its state and what it has noted of its progress.

    Topics stay as they are, so its next run appends all of its output once more. It must not be running.
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
