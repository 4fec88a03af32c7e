"""Streams without tables and windows."""

from __future__ import annotations

from conformance.handwritten.shorthand import ones, steps, with_headers
from conformance.scenario import Scenario

# KIP-259: timestamps of one key, out of order.
_KIP_259 = "1 2 5 6 4 3 7 9"
_CONTINUE = {"processing.exception.handler": "continue"}

SCENARIOS: dict[str, list[Scenario]] = {
    "filter": [
        Scenario("null key passes", steps("_=ab@1 _=_@2 k=_@3")),
        Scenario("headers", with_headers("a@0 bc@10 def@20")),
    ],
    "map": [
        Scenario("null key becomes null value", steps("_=a@1 a=_@2")),
        Scenario("headers", with_headers("a@0 bc@10")),
    ],
    "flat-map": [
        Scenario("one timestamp for all", [*steps("xyz@5 _=ab@3"), ["in", "k", "", 6]]),
        Scenario("headers", with_headers("ab@0 c@10")),
    ],
    "merge-with-itself": [Scenario("once or twice", steps("a=x@1 a=y@3 b=z@2"))],
    "merge": [
        Scenario(
            "waiting for each other",
            steps("in|a10@10 in|a3@3 in|a30@30 other|b5@5 other|b20@20"),
            together=True,
        ),
        Scenario(
            "far apart, all there at once",
            steps(
                "in|a50@50 in|a10@10 in|a60@60 in|a5@5 in|a100@100 in|a90@90 "
                "other|b1@1 other|b55@55 other|b2@2 other|b70@70 other|b65@65 other|b300@300"
            ),
            together=True,
        ),
    ],
    "aggregate-and-pass": [Scenario("count before pass", steps("a@5 b@3 _@4 c@9"))],
    "through-topic": [Scenario("headers", with_headers("ab@0 c@10"))],
    "failing-map": [
        Scenario("one bad word", [*steps("fine@1"), ["in", "k", "a bad c", 2]]),
        Scenario("never bad", [["in", "k", "a b", 1], ["in", "k", "", 2]]),
    ],
    "failing-map-continue": [
        Scenario(
            "one bad word",
            [*steps("fine@1"), ["in", "k", "a bad c", 2], *steps("bad@3 d@4")],
            config=_CONTINUE,
        ),
    ],
    "count": [
        Scenario("kip-259 timestamps", ones(_KIP_259), cached=True),
        Scenario("headers", with_headers("a@0 b@10"), cached=True),
        Scenario("null key and null value", steps("_=a@1 _@2 a@0")),
    ],
    "reduce": [
        Scenario("kip-259 timestamps", ones(_KIP_259)),
        Scenario("headers", with_headers("a@0 b@10"), cached=True),
    ],
    "aggregate": [
        Scenario("kip-259 timestamps", ones(_KIP_259)),
        Scenario("headers", with_headers("a@0 b@10"), cached=True),
    ],
    "aggregate-delete": [
        Scenario("quirk 9 timestamp of the tombstone", steps("a@10 del@5 b@3"), cached=True),
        Scenario("deleting what is not there", steps("del@5 del@3 b@1"), cached=True),
    ],
    "count-words": [
        Scenario("several words in one record", [["in", "k", "a b c", 1], ["in", "k", "", 2]], cached=True),
        Scenario("headers", [[*with_headers("x@0")[0][:2], "a b", 0, [["n", "0"]]]], cached=True),
    ],
    "count-by-head": [
        Scenario("headers", with_headers("a@0 b@10 ab@20"), cached=True),
        Scenario("no key to group by", [["in", "k", "", 1], *steps("_@2 _=ab@3")]),
    ],
    "count-letters": [Scenario("cache and repartition", steps("abcabc@1 a@0"), cached=True)],
    "select-key-and-count": [Scenario("key becomes null", [["in", "k", "", 1], *steps("_@2")])],
    "three-repartitions": [Scenario("headers", with_headers("ab@0 ba@10 a@20"))],
    "merge-order": [Scenario("the earlier one first", steps("first@10 late@5 j=first@3 j=x@1"))],
    "extractor-of-value": [Scenario("negative ones are dropped", steps("5@77 -1@77 3@77 9@77 9@77"))],
    "extractor-falling-back": [Scenario("partition time", steps("-1@77 5@77 -1@77 3@77 -1@77 9@77 -1@77"))],
    "extractor-of-partition-time": [Scenario("kip-259 timestamps", ones(_KIP_259))],
    "cogroup": [
        Scenario("timestamps of the shared row", steps("in|1@5 other|x@3 in|2@1"), cached=True),
        Scenario("null key and null value", steps("in|_=1@5 other|_@6 in|1@7 other|_=x@8")),
        Scenario("headers", with_headers("in|1@5 other|x@3")),
    ],
    "cogroup-time-window": [
        Scenario("two inputs, one window", steps("in|a@1 other|b@4 in|c@12 other|d@3"), {"size": 10, "grace": 5})
    ],
    "cogroup-session-window": [
        Scenario("two inputs, one session", steps("in|a@0 other|b@10 in|c@5 other|d@5"), {"gap": 5, "grace": 10})
    ],
}
