"""`headrace topics check`: samples the keys of an application's input topics to find those that joins would miss."""

from __future__ import annotations

import typer
from rich.text import Text

from headrace._graph.configured import configured
from headrace._runtime.spark.topics.partition_check import joined_input_topics, mismatches, sample_keys
from headrace.cli.loading import LoadedApplication
from headrace.cli.output.console import console, table
from headrace.config import StreamsConfig

_COLUMNS = ("topic", "partitions", "keys sampled", "not by murmur2", "joined", "partitioned by")


def check_topics(loaded: LoadedApplication, config: StreamsConfig, *, keys: int) -> None:
    """Prints which rule each input topic is partitioned by; exits with 1 if a join would miss rows."""
    graph = configured(loaded.topology._graph, config)
    samples = sample_keys(graph, config, graph.source_topics, keys=keys)
    joined = set(joined_input_topics(graph))
    if not samples:
        console().print("Nothing to check: every input topic has one partition, or does not exist.")
        return
    rows = [
        (
            sample.topic,
            str(sample.partitions),
            f"{sample.keys:,}",
            f"{sum(sample.misplaced.values()):,}",
            "yes" if sample.topic in joined else "no",
            sample.rule or "(no keys)",
        )
        for sample in samples
    ]
    console().print(table(_COLUMNS, rows, right=_COLUMNS[1:4]))
    for sample in samples:
        if sample.misplaced:
            console().print(Text(sample.describe()), soft_wrap=True)
    found = mismatches(graph, samples)
    for mismatch in found:
        console().print(Text(mismatch.describe(), style="bold red"), soft_wrap=True)
    if found:
        raise typer.Exit(1)
    console().print("No join misses rows because of how the sampled keys are partitioned.")
