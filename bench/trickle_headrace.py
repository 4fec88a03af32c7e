"""Headrace for `latency`: `python trickle_headrace.py shape topics input output application_id directory`.

`topics` is a directory of embedded topics, or Kafka's bootstrap servers. Settings have their defaults, except for the
directories. Any version of Headrace can run it: it imports nothing else.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import headrace as hr
from headrace import serdes


def topology(shape: str, source: str, output: str) -> hr.Topology:
    builder = hr.StreamsBuilder()
    text, number = serdes.String(), serdes.Long()
    stream = builder.stream(source, value_serde=text)
    if shape == "one":
        counts = stream.group_by_key().count(store="counts")
    else:
        counts = stream.group_by(lambda _, word: word, value_serde=text).count(store="counts")
    if shape == "three":
        groups = counts.group_by(
            lambda word, count: (word.replace("word", "group"), count), key_serde=text, value_serde=number
        )
        counts = groups.count(store="rows")
    counts.to_stream().to(output)
    return builder.build()


def main(shape: str, topics: str, source: str, output: str, application_id: str, directory: str) -> None:
    backend: dict[str, Any] = {"topics_dir": topics} if Path(topics).is_dir() else {"bootstrap_servers": topics}
    config = hr.StreamsConfig(
        application_id=application_id,
        state_dir=Path(directory) / "state",
        local_dir=Path(directory) / "local",
        **backend,
    )
    app = hr.Streams(topology(shape, source, output), config)
    app.start()
    app.await_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
