"""`headrace store`: what an application has in a state store, as its last committed batch left it."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from headrace._graph.configured import configured
from headrace._runtime.defaults import Defaults
from headrace._runtime.pending import nodes_holding_results
from headrace._runtime.spark.starting import committed_view
from headrace._runtime.stores import known_store
from headrace.cli.commands.run import prepared
from headrace.cli.errors import CommandError
from headrace.cli.loading import Loaded
from headrace.cli.output.console import console, counted, table
from headrace.cli.output.entries import PENDING, listing, pending_row
from headrace.cli.output.values import from_text, shown
from headrace.config import StreamsConfig
from headrace.model.pending import Pending


def show_store(loaded: Loaded, config: StreamsConfig, name: str, *, key: str | None, limit: int) -> None:
    """Prints a table of the entries, or of those of one key."""
    graph = configured(loaded.topology._graph, config)
    store = known_store(graph, name)
    wanted = None if key is None else from_text(key, Defaults.of(config).serdes(store)[0])
    _refuse_without_state(loaded, config)
    view = read_store(loaded, config, name)
    columns, entries, row = listing(view, wanted)
    if key is not None and (wanted is None or not entries):
        message = f"Store {name!r} has no key {shown(wanted)!r}."
        raise CommandError(message)
    console().print(table(columns, [row(*entry) for entry in entries[:limit]]))
    if len(entries) > limit:
        console().print(f"{limit:,} of {len(entries):,} entries; --limit shows more, --key one.")
    elif key is None:
        console().print(f"{counted(len(entries), 'entry', 'entries')}.")


def show_pending(loaded: Loaded, config: StreamsConfig, name: str) -> None:
    """Prints what the operator with this store holds back, in a sentence, and task by task."""
    nodes_holding_results(configured(loaded.topology._graph, config), name)
    _refuse_without_state(loaded, config)
    for pending in read_pending(loaded, config, name):
        console().print(Text(str(pending)))
        if pending.waiting:
            console().print(table(PENDING, [pending_row(task) for task in pending.tasks], right=PENDING[1:2]))


def read_store(loaded: Loaded, config: StreamsConfig, name: str) -> Any:
    """A store of an application, as its last committed batch left it."""
    return prepared(loaded, config).store(name)


def read_pending(loaded: Loaded, config: StreamsConfig, name: str) -> list[Pending]:
    """What waits in a store of an application."""
    return prepared(loaded, config).explain_pending(name)


def _refuse_without_state(loaded: Loaded, config: StreamsConfig) -> None:
    if committed_view(config) is None:
        message = (
            f"Application {config.application_id!r} has no state in {str(config.state_dir)!r}: it has not run yet. "
            f"Start it with: headrace run {loaded.path}"
        )
        raise CommandError(message)
