"""`python -m bench [--quick] [case ...]`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import count, day_of_readings, joins, kafka, state_size, table_aggregate, tracked_keys, tumbling
from headrace import StreamsConfig
from headrace._runtime.spark.session import own_session, query_settings

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
KAFKA_CASES = {
    "kafka-count": kafka.run_count,
    "kafka-word-count": kafka.run_word_count,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Headrace against what a user would pick instead, in one run.")
    parser.add_argument("cases", nargs="*", choices=[*CASES, *KAFKA_CASES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer batches and rounds, some minutes")
    arguments = parser.parse_args()
    chosen = arguments.cases or [*CASES, *KAFKA_CASES]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory:
        if any(case in CASES for case in chosen):
            _run_on_spark([case for case in chosen if case in CASES], Path(directory), quick=arguments.quick)
        for case in chosen:
            if case in KAFKA_CASES:
                KAFKA_CASES[case](Path(directory) / case, quick=arguments.quick)


def _run_on_spark(cases: list[str], directory: Path, *, quick: bool) -> None:
    # Every contender gets the same settings: a JVM with all its compilers, as Spark's own operators need it, RocksDB
    # with change logs, two partitions.
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": ""}
    config = StreamsConfig(application_id="bench", spark=settings)
    spark = own_session(config)
    with query_settings(spark, config, 2):
        for case in cases:
            CASES[case](spark, directory / case, quick=quick)
    spark.stop()


if __name__ == "__main__":
    main()
