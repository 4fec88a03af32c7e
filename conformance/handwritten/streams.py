"""Streams without tables and windows."""

from __future__ import annotations

from conformance.order import Step
from conformance.scenario import Scenario

# KIP-259: timestamps of one key, out of order.
_KIP_259 = [1, 2, 5, 6, 4, 3, 7, 9]
_HEADERS = [["trace", "1"], ["flag", None], ["trace", "2"]]


def _ones(timestamps_ms: list[int], key: str = "k") -> list[Step]:
    return [["in", key, "v", timestamp_ms] for timestamp_ms in timestamps_ms]


def _with_headers(*values: str) -> list[Step]:
    return [["in", "k", value, 10 * place, [*_HEADERS, ["n", str(place)]]] for place, value in enumerate(values)]


SCENARIOS: dict[str, list[Scenario]] = {
    "filter": [
        Scenario("null key passes", [["in", None, "ab", 1], ["in", None, None, 2], ["in", "k", None, 3]]),
        Scenario("headers", _with_headers("a", "bc", "def")),
    ],
    "map": [
        Scenario("null key becomes null value", [["in", None, "a", 1], ["in", "a", None, 2]]),
        Scenario("headers", _with_headers("a", "bc")),
    ],
    "flat-map": [
        Scenario("one timestamp for all", [["in", "k", "xyz", 5], ["in", "k", "", 6], ["in", None, "ab", 3]]),
        Scenario("headers", _with_headers("ab", "c")),
    ],
    "merge": [
        Scenario(
            "waiting for each other",
            [
                ["in", "k", "a10", 10],
                ["in", "k", "a3", 3],
                ["in", "k", "a30", 30],
                ["other", "k", "b5", 5],
                ["other", "k", "b20", 20],
            ],
            together=True,
        ),
        Scenario(
            "far apart, all there at once",
            [
                *[["in", "k", f"a{time}", time] for time in (50, 10, 60, 5, 100, 90)],
                *[["other", "k", f"b{time}", time] for time in (1, 55, 2, 70, 65, 300)],
            ],
            together=True,
        ),
    ],
    "through-topic": [Scenario("headers", _with_headers("a b", "c"))],
    "failing-map": [
        Scenario("one bad word", [["in", "k", "fine", 1], ["in", "k", "a bad c", 2]]),
        Scenario("never bad", [["in", "k", "a b", 1], ["in", "k", "", 2]]),
    ],
    "failing-map-continue": [
        Scenario(
            "one bad word",
            [["in", "k", "fine", 1], ["in", "k", "a bad c", 2], ["in", "k", "bad", 3], ["in", "k", "d", 4]],
            config={"processing.exception.handler": "continue"},
        ),
        Scenario("still fails by default", [["in", "k", "fine", 1], ["in", "k", "a bad c", 2]]),
    ],
    "count": [
        Scenario("kip-259 timestamps", _ones(_KIP_259), cached=True),
        Scenario("headers", _with_headers("a", "b"), cached=True),
        Scenario("null key and null value", [["in", None, "a", 1], ["in", "k", None, 2], ["in", "k", "a", 0]]),
    ],
    "reduce": [
        Scenario("kip-259 timestamps", _ones(_KIP_259)),
        Scenario("headers", _with_headers("a", "b"), cached=True),
    ],
    "aggregate": [
        Scenario("kip-259 timestamps", _ones(_KIP_259)),
        Scenario("headers", _with_headers("a", "b"), cached=True),
    ],
    "aggregate-delete": [
        Scenario(
            "quirk 9 timestamp of the tombstone",
            [["in", "k", "a", 10], ["in", "k", "del", 5], ["in", "k", "b", 3]],
            cached=True,
        ),
        Scenario("deleting what is not there", [["in", "k", "del", 5], ["in", "k", "del", 3], ["in", "k", "b", 1]]),
    ],
    "count-words": [
        Scenario("several words in one record", [["in", "k", "a b c", 1], ["in", "k", "", 2]], cached=True),
        Scenario("headers", _with_headers("a b", "c"), cached=True),
    ],
    "count-by-head": [
        Scenario("headers", _with_headers("a", "b", "ab"), cached=True),
        Scenario("no key to group by", [["in", "k", "", 1], ["in", "k", None, 2], ["in", None, "ab", 3]]),
    ],
    "count-letters": [Scenario("cache and repartition", [["in", "k", "abcabc", 1], ["in", "k", "a", 0]], cached=True)],
    "select-key-and-count": [Scenario("key becomes null", [["in", "k", "", 1], ["in", "k", None, 2]])],
    "three-repartitions": [Scenario("headers", _with_headers("ab", "ba", "a"))],
    "merge-order": [
        Scenario(
            "the earlier one first",
            [["in", "k", "first", 10], ["in", "k", "late", 5], ["in", "j", "first", 3], ["in", "j", "x", 1]],
        )
    ],
    "extractor-of-value": [
        Scenario("negative ones are dropped", [["in", "k", value, 77] for value in ("5", "-1", "3", "9", "9")])
    ],
    "extractor-falling-back": [
        Scenario("partition time", [["in", "k", value, 77] for value in ("-1", "5", "-1", "3", "-1", "9", "-1")])
    ],
    "extractor-of-partition-time": [Scenario("kip-259 timestamps", _ones(_KIP_259))],
}
