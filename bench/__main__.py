"""`python -m bench [--quick] [--against COMMIT] [case ...]`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import (
    count,
    day_of_readings,
    joins,
    kafka,
    latency,
    latency_embedded,
    small_batches,
    state_size,
    table_aggregate,
    tracked_keys,
    tumbling,
    versions,
)
from headrace import StreamsConfig
from headrace._runtime.spark.session.session import own_session, query_settings

# In one Spark session that all contenders share.
CASES = {
    "count": count.run,
    "table-aggregate": table_aggregate.run,
    "tumbling-count": tumbling.run_updates,
    "tumbling-final": tumbling.run_final,
    "state-size": state_size.run,
    "day-of-readings": day_of_readings.run,
    "tracked-keys": tracked_keys.run,
    "stream-stream-join": joins.run_streams,
    "stream-table-join": joins.run_table,
}
# Each contender in processes of its own.
PROCESS_CASES = {
    "kafka-count": kafka.run_count,
    "kafka-word-count": kafka.run_word_count,
    "latency": latency.run,
    "latency-embedded": latency_embedded.run,
    "small-batches": small_batches.run,
}
# Those of the first kind that two versions can run side by side, in processes of their own.
AGAINST_CASES = {
    "count": versions.run_count,
    "tumbling-count": versions.run_tumbling_count,
}

# Every contender gets the same settings, with what suits Spark's own operators: a JVM with all its compilers, RocksDB
# with change logs, which need not count rows, and plans that adapt. Headrace sets what its own queries need itself.
_STATE_STORE = "spark.sql.streaming.stateStore"
SESSION = {
    "spark.master": "local[2]",
    "spark.driver.extraJavaOptions": "",
    "spark.sql.adaptive.enabled": "true",
    f"{_STATE_STORE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STATE_STORE}.rocksdb.trackTotalNumberOfRows": "false",
    f"{_STATE_STORE}.checkpointFormatVersion": "2",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Headrace against what a user would pick instead, in one run.")
    parser.add_argument("cases", nargs="*", choices=[*CASES, *PROCESS_CASES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer batches and rounds, some minutes")
    parser.add_argument(
        "--against",
        metavar="COMMIT",
        help=f"compare with an earlier version of Headrace: {', '.join([*AGAINST_CASES, *PROCESS_CASES])}",
    )
    arguments = parser.parse_args()
    quick, against = arguments.quick, arguments.against
    shared = AGAINST_CASES if against else CASES
    chosen = arguments.cases or [*shared, *PROCESS_CASES]
    refused = [case for case in chosen if case not in shared and case not in PROCESS_CASES]
    if refused:
        parser.error(f"--against is not for {', '.join(refused)}")
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory:
        if against:
            for case in chosen:
                if case in AGAINST_CASES:
                    AGAINST_CASES[case](Path(directory) / case, quick=quick, against=against)
        elif any(case in CASES for case in chosen):
            _run_on_spark([case for case in chosen if case in CASES], Path(directory), quick=quick)
        for case in chosen:
            if case in PROCESS_CASES:
                PROCESS_CASES[case](Path(directory) / case, quick=quick, against=against)


def _run_on_spark(cases: list[str], directory: Path, *, quick: bool) -> None:
    config = StreamsConfig(application_id="bench", spark=SESSION)
    spark = own_session(config)
    with query_settings(spark, config, 2):
        for case in cases:
            CASES[case](spark, directory / case, quick=quick)
    spark.stop()


if __name__ == "__main__":
    main()
