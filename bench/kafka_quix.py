"""The contender `quix-streams`, run in a virtual environment of its own.

`python kafka_quix.py workload servers input output group state_dir [commit_interval [poll_timeout]]`.
"""

from __future__ import annotations

import sys
from typing import Any

from quixstreams import Application


def count(_: Any, state: Any) -> int:
    count: int = state.get("count", 0) + 1
    state.set("count", count)
    return count


def main(
    workload: str,
    servers: str,
    source: str,
    output: str,
    group: str,
    state_dir: str,
    commit_interval: str = "1.0",
    poll_timeout: str = "1.0",
) -> None:
    app = Application(
        servers,
        consumer_group=group,
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        commit_interval=float(commit_interval),
        consumer_poll_timeout=float(poll_timeout),
        state_dir=state_dir,
        loglevel="WARNING",
    )
    if workload in ("count", "one"):
        stream = app.dataframe(app.topic(source, key_deserializer="bytes", value_deserializer="bytes"))
        keys = "bytes"
    else:
        lines = app.dataframe(app.topic(source, key_deserializer="bytes", value_deserializer="str"))
        text: Any = dict.fromkeys(
            ("value_deserializer", "key_deserializer", "value_serializer", "key_serializer"), "str"
        )
        words = lines.apply(str.split, expand=True) if workload == "words" else lines
        stream = words.group_by(lambda word: word, name="word", **text)
        keys = "str"
    stream.apply(count, stateful=True).to_topic(app.topic(output, key_serializer=keys, value_serializer="int"))
    app.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
