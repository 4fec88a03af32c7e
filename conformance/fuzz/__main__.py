"""Compares random topologies on Headrace's test driver with Kafka Streams.

python -m conformance.fuzz --minutes 5          random cases for five minutes
python -m conformance.fuzz --seed 7 --cases 1   the case of seed 7
python -m conformance.fuzz --plan               the test driver against the plan that Spark runs; needs no Java
python -m conformance.fuzz --spark              the test driver against Spark, eight cases in one query
python -m conformance.fuzz --record             records the sample that the tests replay
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import closing

from conformance.fuzz import sample
from conformance.fuzz.fuzzing import AgainstKafkaStreams, AgainstPlan, AgainstSpark, Fuzzing
from conformance.fuzz.kafka_streams import KafkaStreams
from conformance.fuzz.spark import Spark


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code, 1 if there is a difference that nothing explains."""
    parser = argparse.ArgumentParser(prog="python -m conformance.fuzz", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=5, help="stop after so many minutes (default: 5)")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, default=None, help="seed of the first case (default: the clock's)")
    parser.add_argument("--no-build", action="store_true", help="use the Java classes as they are")
    parser.add_argument("--max-differences", type=int, default=10, help="stop after so many unexplained differences")
    parser.add_argument("--show", metavar="TEXT", help="show differences for a known reason that contains this, too")
    parser.add_argument("--plan", action="store_true", help="compare the test driver with the plan that Spark runs")
    parser.add_argument("--spark", action="store_true", help="compare the test driver with Spark")
    parser.add_argument("--record", action="store_true", help="record the sample that the tests replay")
    options = parser.parse_args(arguments)
    first = int(time.time()) * 1000 if options.seed is None else options.seed
    bounds = (first, options.cases, options.minutes * 60)
    if options.plan:
        return Fuzzing(AgainstPlan(), options.max_differences).run(*bounds)
    if options.spark:
        with closing(Spark()) as spark:
            return Fuzzing(AgainstSpark(spark), options.max_differences).run(*bounds)
    with KafkaStreams(compile_first=not options.no_build) as kafka:
        if options.record:
            print(f"Recorded a sample of {sample.record(kafka)} seeds.")
            return 0
        return Fuzzing(AgainstKafkaStreams(kafka), options.max_differences, options.show).run(*bounds)


if __name__ == "__main__":
    sys.exit(main())
