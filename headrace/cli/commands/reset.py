"""`headrace reset`: an application starts from the beginning again; says what it deletes, and asks first."""

from __future__ import annotations

import typer

from headrace._runtime.spark import reset as resets
from headrace.cli.loading import Loaded
from headrace.cli.output.console import console
from headrace.config import StreamsConfig
from headrace.errors import known_names


def reset(loaded: Loaded, config: StreamsConfig, *, yes: bool, dry_run: bool) -> None:
    """Deletes what the application keeps of its own, after a confirmation."""
    name, found = config.application_id, resets.find(config)
    if not found.descriptions:
        console().print(f"Nothing to reset: application {name!r} has no state in {str(config.state_dir)!r}.")
        return
    if not dry_run:
        found.refuse_running()
    console().print(f"To reset application {name!r}, this is deleted:")
    for what in found.descriptions:
        console().print(f"  - {what}", soft_wrap=True)
    console().print(f"{_kept(loaded)} {_next_run(config)}", soft_wrap=True)
    if found.foreign:
        stays = f"In the state directory {known_names(found.foreign)} stays too: move it away before the next run."
        console().print(stays, soft_wrap=True)
    if dry_run:
        console().print("Nothing was deleted (--dry-run).")
        return
    if not yes:
        typer.confirm("Delete it?", abort=True)
    found.delete()
    console().print(f"Application {name!r} is reset.")


def _kept(loaded: Loaded) -> str:
    graph = loaded.topology._graph
    return f"Topics are kept: input {known_names(graph.source_topics)}; output {known_names(graph.sink_topics)}."


def _next_run(config: StreamsConfig) -> str:
    if config.auto_offset_reset == "latest":
        return "The next run begins at the end of its input (auto_offset_reset='latest')."
    return "The next run reads its input from the beginning, and appends its output once more."
