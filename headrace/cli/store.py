"""`headrace store`: what an application has in a state store, as its last committed batch left it."""

from __future__ import annotations

from typing import Any

from headrace._runtime.assemble import Defaults
from headrace._runtime.stores import known_store
from headrace._state.readonly import ReadOnlyTimestampedStore
from headrace.cli.background import Background
from headrace.cli.console import console, counted, table
from headrace.cli.errors import CommandError
from headrace.cli.loading import Loaded
from headrace.cli.run import prepared
from headrace.cli.values import from_text, shown, shown_time
from headrace.config import StreamsConfig


def show_store(loaded: Loaded, config: StreamsConfig, name: str, *, key: str | None, limit: int) -> None:
    """Prints a table of the entries, or the entry of one key."""
    graph = loaded.topology._graph
    store = known_store(graph, name)
    wanted = None if key is None else from_text(key, Defaults.of(config).serdes(store)[0])
    if not (config.state_dir / "headrace.json").exists():
        message = (
            f"Application {config.application_id!r} has no state in {str(config.state_dir)!r}: it has not run yet. "
            f"Start it with: headrace run {loaded.path}"
        )
        raise CommandError(message)
    view = read_store(loaded, config, name)
    entries = list(view.all()) if key is None else [(wanted, view.get(wanted))]
    if key is not None and entries[0][1] is None:
        message = f"Store {name!r} has no key {shown(wanted)!r}."
        raise CommandError(message)
    rows = [(shown(entry), shown(value), _time(view, entry)) for entry, value in entries[:limit]]
    console().print(table(("key", "value", "timestamp (UTC)"), rows))
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


def _time(view: ReadOnlyTimestampedStore[Any, Any], key: Any) -> str:
    found = view.get_with_timestamp(key)
    return "" if found is None else shown_time(found.timestamp_ms)
