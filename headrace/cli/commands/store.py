"""`headrace store`: shows the entries of a state store, as of the last committed batch."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from headrace._graph.configured import configured
from headrace._runtime.defaults import Defaults
from headrace._runtime.pending import nodes_holding_results
from headrace._runtime.spark.starting import committed_view
from headrace._runtime.stores import known_store
from headrace.cli.commands.run import create_streams
from headrace.cli.errors import CommandError
from headrace.cli.loading import LoadedApplication
from headrace.cli.output.console import console, pluralize, table
from headrace.cli.output.entries import PENDING, listing, pending_row
from headrace.cli.output.values import format_value, from_text
from headrace.config import StreamsConfig
from headrace.model.pending import Pending
from headrace.model.stores.specs import CustomSpec


def show_store(loaded: LoadedApplication, config: StreamsConfig, name: str, *, key: str | None, limit: int) -> None:
    """Prints a table of at most `limit` entries of a store; only those of `key` if it is given."""
    graph = configured(loaded.topology._graph, config)
    store = known_store(graph, name)
    if isinstance(store, CustomSpec):
        message = (
            f"Store {name!r} is a custom store, whose entries this command cannot show. Read it in Python, with "
            f"app.store({name!r})."
        )
        raise CommandError(message)
    wanted = None if key is None else from_text(key, Defaults.of(config).serdes(store)[0])
    _refuse_without_state(loaded, config)
    view = read_store(loaded, config, name)
    columns, entries, row = listing(view, wanted)
    if key is not None and (wanted is None or not entries):
        message = f"Store {name!r} has no key {format_value(wanted)!r}."
        raise CommandError(message)
    console().print(table(columns, [row(*entry) for entry in entries[:limit]]))
    if len(entries) > limit:
        console().print(f"{limit:,} of {len(entries):,} entries; use --limit to show more, --key to show one key.")
    elif key is None:
        console().print(f"{pluralize(len(entries), 'entry', 'entries')}.")


def show_pending(loaded: LoadedApplication, config: StreamsConfig, name: str) -> None:
    """Prints which results the operator of this store holds back: a sentence, and a table by task."""
    nodes_holding_results(configured(loaded.topology._graph, config), name)
    _refuse_without_state(loaded, config)
    for pending in read_pending(loaded, config, name):
        console().print(Text(str(pending)))
        if pending.waiting:
            console().print(table(PENDING, [pending_row(task) for task in pending.tasks], right=PENDING[1:2]))


def read_store(loaded: LoadedApplication, config: StreamsConfig, name: str) -> Any:
    """Reads a store of an application, as of the last committed batch."""
    return create_streams(loaded, config).store(name)


def read_pending(loaded: LoadedApplication, config: StreamsConfig, name: str) -> list[Pending]:
    """Reads which results a store of an application holds back."""
    return create_streams(loaded, config).explain_pending(name)


def _refuse_without_state(loaded: LoadedApplication, config: StreamsConfig) -> None:
    if committed_view(config) is None:
        message = (
            f"Application {config.application_id!r} has no state in {str(config.state_dir)!r}: it has not run yet. "
            f"Start it with: headrace run {loaded.path}"
        )
        raise CommandError(message)
