"""`headrace topics`: lists, creates, writes and reads embedded topics, or those of a Kafka cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated, TextIO

import typer

from headrace import serdes
from headrace.cli.commands.consume import FieldReader, print_json, print_readable, read_stored_records
from headrace.cli.errors import CommandError
from headrace.cli.output.console import console, pluralize, table
from headrace.cli.output.lines import AnyRecord, json_records, text_records
from headrace.cli.output.values import pairs, serde_named
from headrace.topics.embedded.topics import LocalTopics
from headrace.topics.kafka.topics import KafkaTopics
from headrace.topics.policy import UNLIMITED, CleanupPolicy

_DEFAULT = Path("topics")

topics = typer.Typer(no_args_is_help=True, help="List, create, write and read topics, embedded or on Kafka.")

TopicsDir = Annotated[Path | None, typer.Option(help="Directory of the embedded topics.", show_default="topics")]
Servers = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Kafka brokers, if the topics are on Kafka.")]
KafkaSettings = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Setting of the Kafka client, e.g. security.protocol=SSL; may be repeated."),
]
Name = Annotated[str, typer.Argument(help="Name of the topic.")]
KeySerde = Annotated[
    str | None,
    typer.Option(
        help="Serde of the keys, e.g. String, Long, or WindowedKey:60000 for windows of 60,000 ms.",
        show_default="String",
    ),
]
ValueSerde = Annotated[
    str | None,
    typer.Option(help="Serde of the values, e.g. Json, Long, List:Long or ChangeEvent:Json.", show_default="Json"),
]


@topics.command("list", epilog="Example: headrace topics list --topics-dir topics")
def list_topics(topics_dir: TopicsDir = None, bootstrap_servers: Servers = None, kafka: KafkaSettings = None) -> None:
    """Shows all topics: the number of partitions and of records, the offsets of each partition, and the retention.

    Begin offsets are shown unless all of them are 0. The records before them are deleted.
    """
    where = _topics(topics_dir, bootstrap_servers, kafka)
    described = [where.describe(name) for name in where.list()]
    if not described:
        location = bootstrap_servers or str(topics_dir or _DEFAULT)
        console().print(f"No topics in {location!r}. Create one with: headrace topics create clicks")
        return
    columns = {
        "topic": [topic.name for topic in described],
        "partitions": [str(topic.partitions) for topic in described],
        "records": [f"{topic.records:,}" for topic in described],
        "begin offsets": [_offsets(topic.begin_offsets) for topic in described],
        "end offsets": [_offsets(topic.end_offsets) for topic in described],
        "retention": ["" if topic.policy == UNLIMITED else topic.policy.describe() for topic in described],
    }
    if not any(any(topic.begin_offsets) for topic in described):
        del columns["begin offsets"]
    if not any(columns["retention"]):
        del columns["retention"]
    rows = list(zip(*columns.values(), strict=True))
    console().print(table(tuple(columns), rows, right=("partitions", "records")))


@topics.command(epilog="Example: headrace topics create clicks --partitions 4")
def create(
    name: Name,
    partitions: Annotated[int, typer.Option(help="Number of partitions; it cannot be changed later.")] = 4,
    retention_ms: Annotated[
        int | None,
        typer.Option(
            min=1, help="Delete records older than this.", show_default="keep all; on Kafka, the broker's default"
        ),
    ] = None,
    retention_bytes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Delete the oldest records of a partition larger than this.",
            show_default="keep all; on Kafka, the broker's default",
        ),
    ] = None,
    cleanup_policy: Annotated[
        CleanupPolicy | None, typer.Option(help="compact keeps only the last record of each key.")
    ] = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Accept an existing topic with the same number of partitions.")
    ] = False,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
) -> None:
    """Creates a topic."""
    retention = None if retention_ms is None else timedelta(milliseconds=retention_ms)
    where = _topics(topics_dir, bootstrap_servers, kafka)
    existed = if_not_exists and name in where.list()
    where.create(
        name,
        partitions,
        retention=retention,
        retention_bytes=retention_bytes,
        cleanup_policy=cleanup_policy,
        exist_ok=if_not_exists,
    )
    location = f"at {bootstrap_servers}" if bootstrap_servers else f"in {topics_dir or _DEFAULT}"
    done = "Found" if existed else "Created"
    console().print(f"{done} topic {name} with {pluralize(partitions, 'partition')} {location}.")


@topics.command(
    epilog="""Examples: echo 'alice:{"page": "/"}' | headrace topics produce clicks

    headrace topics produce totals --file totals.txt --separator = --value-serde Long

    headrace topics consume clicks --json | headrace topics produce copy --json"""
)
def produce(
    name: Name,
    file: Annotated[Path | None, typer.Option(help="Read lines from this file.", show_default="stdin")] = None,
    separator: Annotated[str, typer.Option(help="Separator between key and value.")] = ":",
    json: Annotated[
        bool, typer.Option("--json", help='Lines are JSON: {"key":, "value":, "timestamp_ms":, "headers": {}}.')
    ] = False,
    key_serde: KeySerde = None,
    value_serde: ValueSerde = None,
    commit_every: Annotated[
        int | None,
        typer.Option(
            min=1, help="Commit after this many records.", show_default="all at once; at a terminal line by line"
        ),
    ] = None,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
) -> None:
    """Appends a record for each line: key:value, or JSON. A record without a timestamp gets the current time."""
    keys, values = serde_named(key_serde or "String"), serde_named(value_serde or "Json")
    if not separator:
        message = "--separator is empty; it must be at least one character."
        raise CommandError(message)
    where = _topics(topics_dir, bootstrap_servers, kafka)
    where.describe(name)
    with _open(file) as lines:
        records = json_records(lines, keys, values) if json else text_records(lines, separator, keys, values)
        size = commit_every or (1 if lines.isatty() else None)
        count = sum(where.produce(name, part, key_serde=keys, value_serde=values) for part in _parts(records, size))
    console().print(f"{pluralize(count, 'record')} written to {name}.")


@topics.command(
    epilog="""Examples: headrace topics consume clicks --limit 10

    headrace topics consume totals --value-serde Long --follow"""
)
def consume(
    name: Name,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning/--from-end", help="All records, or only those that arrive from now on.")
    ] = True,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many records.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more records until Ctrl-C.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per record.")] = False,
    key_serde: KeySerde = None,
    value_serde: ValueSerde = None,
    topics_dir: TopicsDir = None,
    bootstrap_servers: Servers = None,
    kafka: KafkaSettings = None,
) -> None:
    """Prints the records of a topic, by partition and offset, each with its timestamp, key, value and headers."""
    if not from_beginning and not follow:
        message = "--from-end shows the records that arrive from now on; add --follow to wait for them."
        raise CommandError(message)
    where = _topics(topics_dir, bootstrap_servers, kafka)
    keys = FieldReader("key", None if key_serde is None else serde_named(key_serde), serdes.String())
    values = FieldReader("value", None if value_serde is None else serde_named(value_serde), serdes.Json())
    records = read_stored_records(where, name, follow=follow, from_end=not from_beginning)
    show = print_json if json else print_readable
    try:
        show(records, keys, values, limit)
    except KeyboardInterrupt:
        raise typer.Exit from None


def _offsets(offsets: Iterable[int]) -> str:
    return " ".join(f"{offset:,}" for offset in offsets)


def _topics(
    topics_dir: Path | None, bootstrap_servers: str | None, kafka: list[str] | None
) -> LocalTopics | KafkaTopics:
    if bootstrap_servers is None:
        if kafka:
            message = "--kafka is a setting for Kafka: add --bootstrap-servers."
            raise CommandError(message)
        return LocalTopics(topics_dir or _DEFAULT)
    if topics_dir is not None:
        message = "--topics-dir and --bootstrap-servers exclude each other: topics are in a directory, or on Kafka."
        raise CommandError(message)
    return KafkaTopics(bootstrap_servers, pairs("--kafka", kafka))


@contextmanager
def _open(file: Path | None) -> Iterator[TextIO]:
    if file is None:
        yield sys.stdin
        return
    try:
        opened = file.open(encoding="utf-8")
    except OSError as error:
        message = f"Cannot read {str(file)!r}: {error.strerror}."
        raise CommandError(message) from error
    with opened:
        yield opened


def _parts(records: Iterator[AnyRecord], size: int | None) -> Iterator[Iterable[AnyRecord]]:
    """Splits records into parts of at most `size` records. If `size` is `None`, all records are one part."""
    if size is None:
        yield records
        return
    while part := list(islice(records, size)):
        yield part
