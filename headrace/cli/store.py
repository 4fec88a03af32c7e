"""`headrace store`: what an application has in a state store, as its last committed batch left it."""

from __future__ import annotations

from typing import Any

from headrace._graph.configured import configured
from headrace._runtime.assemble import Defaults
from headrace._runtime.stores import known_store
from headrace.cli.background import Background
from headrace.cli.console import console, counted, table
from headrace.cli.entries import listing
from headrace.cli.errors import CommandError
from headrace.cli.loading import Loaded
from headrace.cli.run import prepared
from headrace.cli.values import from_text, shown
from headrace.config import StreamsConfig


def show_store(loaded: Loaded, config: StreamsConfig, name: str, *, key: str | None, limit: int) -> None:
    """Prints a table of the entries, or of those of one key."""
    graph = configured(loaded.topology._graph, config)
    store = known_store(graph, name)
    wanted = None if key is None else from_text(key, Defaults.of(config).serdes(store)[0])
    if not (config.state_dir / "headrace.json").exists():
        message = (
            f"Application {config.application_id!r} has no state in {str(config.state_dir)!r}: it has not run yet. "
            f"Start it with: headrace run {loaded.path}"
        )
        raise CommandError(message)
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


def read_store(loaded: Loaded, config: StreamsConfig, name: str) -> Any:
    """A store of a stopped application, read with the help of Spark."""
    streams = prepared(loaded, config)
    work = Background(lambda: streams.store(name))
    with console(stderr=True).status(f"Reading store {name} with Spark"):
        while not work.wait(0.1):
            pass
        view = work.result()
        streams.stop()
        return view
