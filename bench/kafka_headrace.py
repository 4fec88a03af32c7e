"""The contender `headrace`: `python kafka_headrace.py workload servers input output application_id directory [cache]`.

`cache` is the size of the record cache in bytes. Without it, any version of Headrace can run it: it imports nothing
else.
"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace as hr
from headrace import serdes


def topology(workload: str, source: str, output: str) -> hr.Topology:
    builder = hr.StreamsBuilder()
    text = serdes.String()
    if workload == "count":
        grouped = builder.stream(source, value_serde=serdes.Bytes()).group_by_key()
    else:
        words = builder.stream(source, value_serde=text).flat_map_values(str.split)
        grouped = words.group_by(lambda _, word: word, value_serde=text)
    grouped.count(store="counts").to_stream().to(output)
    return builder.build()


def main(
    workload: str, servers: str, source: str, output: str, application_id: str, directory: str, cache: str = "0"
) -> None:
    config = hr.StreamsConfig(
        application_id=application_id,
        bootstrap_servers=servers,
        state_dir=Path(directory) / "state",
        local_dir=Path(directory) / "local",
        max_records_per_batch=500_000 if workload == "count" else 100_000,
        statestore_cache_max_bytes=int(cache),
        spark={"spark.master": "local[2]"},
    )
    app = hr.Streams(topology(workload, source, output), config)
    app.start()
    app.await_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
