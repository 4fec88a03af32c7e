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
from bench.report.writing import write as write_report
from headrace import StreamsConfig
from headrace._runtime.spark.session.session import own_session, query_settings

# Cases whose contenders share one Spark session.
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
# Cases that start each contender in processes of its own.
PROCESS_CASES = {
    "kafka-count": kafka.run_count,
    "kafka-word-count": kafka.run_word_count,
    "latency": latency.run,
    "latency-embedded": latency_embedded.run,
    "small-batches": small_batches.run,
}
# Cases of the first kind that can compare two versions, each in processes of its own.
AGAINST_CASES = {
    "count": versions.run_count,
    "tumbling-count": versions.run_tumbling_count,
}

# All contenders share these settings, which suit Spark's own operators: a JVM with all its compilers, RocksDB with
# change logs and without row counts, adaptive plans. Headrace overrides what its own queries need.
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
    known = [*CASES, *PROCESS_CASES]
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Compares Headrace with its alternatives. Saves figures in bench/results.json and in docs/proof.",
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all of {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="less input and fewer rounds; takes some minutes")
    parser.add_argument(
        "--against",
        metavar="COMMIT",
        help="compare with an earlier version of Headrace; only for " + ", ".join([*AGAINST_CASES, *PROCESS_CASES]),
    )
    arguments = parser.parse_args()
    unknown = [case for case in arguments.cases if case not in known]
    if unknown:
        parser.error(f"unknown case {', '.join(unknown)}; known cases: {', '.join(known)}")
    quick, against = arguments.quick, arguments.against
    shared = AGAINST_CASES if against else CASES
    chosen = arguments.cases or [*shared, *PROCESS_CASES]
    refused = [case for case in chosen if case not in shared and case not in PROCESS_CASES]
    if refused:
        parser.error(f"--against cannot be used with {', '.join(refused)}")
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
    write_report()


def _run_on_spark(cases: list[str], directory: Path, *, quick: bool) -> None:
    config = StreamsConfig(application_id="bench", spark=SESSION)
    spark = own_session(config)
    with query_settings(spark, config, 2):
        for case in cases:
            CASES[case](spark, directory / case, quick=quick)
    spark.stop()


if __name__ == "__main__":
    main()
