"""An application to run in a separate process, so that a test can kill it.

`python -m tests.support.killable NAME DIRECTORY MAX [BROKER [MASTER]]`; topics are in the directory, or on the broker.
It processes all available records, and again for every line on stdin. SPARK_PARTITIONS sets the number of Spark
partitions, and STOP_AT makes it stop at a step of a commit (`stop_points.py`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import headrace as hr
from tests.support import topologies
from tests.support.runtimes import FAST_START


def main(name: str, directory: Path, max_records: int, broker: str | None = None, master: str = "local[2]") -> None:
    config = hr.StreamsConfig(
        application_id="killable",
        topics_dir=None if broker else directory / "topics",
        bootstrap_servers=broker,
        state_dir=directory / "state",
        local_dir=directory / "local",
        max_records_per_batch=max_records,
        spark_partitions=int(os.environ["SPARK_PARTITIONS"]) if "SPARK_PARTITIONS" in os.environ else None,
        spark={**FAST_START, "spark.master": master},
    )
    with hr.Streams(getattr(topologies, name)(), config) as app:
        print("running", flush=True)
        app.process_available()
        print("done", flush=True)
        for _ in sys.stdin:
            app.process_available()
            print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
