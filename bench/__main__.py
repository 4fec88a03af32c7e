"""`python -m bench [--quick] [case ...]`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import count, day_of_readings, joins, state_size, table_aggregate, tracked_keys, tumbling
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


def main() -> None:
    parser = argparse.ArgumentParser(description="Headrace against what a user would pick instead, in one run.")
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer batches, under three minutes")
    arguments = parser.parse_args()
    config = StreamsConfig(application_id="bench", spark={"spark.master": "local[2]"})
    spark = own_session(config)
    # Every contender gets the same settings: RocksDB with change logs, two partitions.
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory, query_settings(spark, config, 2):
        for case in arguments.cases or CASES:
            CASES[case](spark, Path(directory) / case, quick=arguments.quick)
    spark.stop()


if __name__ == "__main__":
    main()
