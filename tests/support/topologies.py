"""Topologies that several tiers run."""

from __future__ import annotations

import headrace as hr
from headrace import serdes


def word_letters():
    """Three sub-topologies in a row, a branch that skips one, and sinks at every stage."""
    builder = hr.StreamsBuilder()
    lines = builder.stream("lines", value_serde=serdes.String())
    counts = (
        lines.flat_map_values(lambda line: line.split())
        .group_by(lambda key, word: word, value_serde=serdes.String())
        .count(store="words")
        .to_stream()
    )
    counts.to("word-counts")
    long_lines = lines.filter(lambda key, line: len(line) > 12)
    long_lines.to("long-lines")
    by_letter = (
        counts.map(lambda word, count: (word[0], f"{word}={count}"))
        .merge(long_lines.map(lambda key, line: (line[0], f"long:{line}")))
        .repartition("by-letter", key_serde=serdes.String(), value_serde=serdes.String(), partitions=3)
    )
    by_letter.group_by_key().aggregate(
        list, lambda key, value, seen: [*seen[-3:], value], store="letters", value_serde=serdes.Json()
    ).to_stream().to("letters")
    return builder.build()
