"""`headrace reset`: deletes an application's state so that it starts from the beginning; shows what, and asks first."""

from __future__ import annotations

import typer

from headrace._runtime.spark import reset as resets
from headrace._runtime.spark.planning.first_offsets import reset_of
from headrace.cli.loading import LoadedApplication
from headrace.cli.output.console import console
from headrace.config import StreamsConfig
from headrace.errors import known_names


def reset(loaded: LoadedApplication, config: StreamsConfig, *, yes: bool, dry_run: bool) -> None:
    """Shows what belongs to the state of an application, and deletes it after a confirmation."""
    name, found = config.application_id, resets.find(config)
    if not found.descriptions:
        console().print(f"Nothing to reset: application {name!r} has no state in {str(config.state_dir)!r}.")
        return
    if not dry_run:
        found.refuse_running()
    console().print(f"Resetting application {name!r} deletes:")
    for what in found.descriptions:
        console().print(f"  - {what}", soft_wrap=True)
    console().print(f"{_describe_topics(loaded)} {_describe_next_run(loaded, config)}", soft_wrap=True)
    if found.foreign:
        warning = (
            f"The state directory also contains {known_names(found.foreign)}, which Headrace does not delete: move "
            "it away before the next run."
        )
        console().print(warning, soft_wrap=True)
    if dry_run:
        console().print("Nothing was deleted (--dry-run).")
        return
    if not yes:
        typer.confirm("Delete?", abort=True)
    found.delete()
    console().print(f"Application {name!r} is reset.")


def _describe_topics(loaded: LoadedApplication) -> str:
    graph = loaded.topology._graph
    chosen = " and those that functions chose" if graph.dynamic_sinks else ""
    return (
        f"Topics stay as they are: input {known_names(graph.shown_source_topics)}; "
        f"output {known_names(graph.sink_topics)}{chosen}."
    )


def _describe_next_run(loaded: LoadedApplication, config: StreamsConfig) -> str:
    sources = loaded.topology._graph.user_sources
    strategies = {reset_of(source, config.offset_reset).strategy for source in sources}
    if "none" in strategies:
        return "The next run refuses to start as long as the offset reset of a source is 'none'."
    if strategies == {"latest"}:
        return "The next run begins at the end of its input (offset reset 'latest')."
    if strategies == {"earliest"}:
        return "The next run reads its input from the beginning, and appends its output again."
    return "The next run begins where the offset reset of each source says, and appends its output again."
