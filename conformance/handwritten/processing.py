"""The processor API."""

from __future__ import annotations

from conformance.handwritten.shorthand import ones, steps, with_headers
from conformance.scenario import Scenario


def _told(*orders: str) -> list[list[object]]:
    return [["in", "k", order, 10] for order in orders]


SCENARIOS: dict[str, list[Scenario]] = {
    "process-forward": [
        Scenario(
            "reference",
            _told("all", "at 77", "only second at 5", "burst 99", "all", "only first", "only second"),
        ),
        Scenario("unknown child", _told("all", "only third")),
        Scenario("negative timestamp", _told("all", "at -5")),
    ],
    "process-headers": [Scenario("headers", with_headers("a@5 b@3 _@4"))],
    "process-edit-headers": [Scenario("headers", with_headers("a@5 b@3 _@4"))],
    "global-store": [
        Scenario(
            "headers and null keys",
            [*with_headers("p=A@5 p=B@3 q=C@9 q=_@10 _=D@1", topic="table"), *steps("pa@2 q@3 _@4", topic="stream")],
        )
    ],
    "process-store": [Scenario("headers", with_headers("a@5 b@3"))],
    "process-values": [Scenario("headers", with_headers("a@5 b@3"))],
    "process-metadata": [Scenario("offsets count per topic", steps("in|a@5 other|b@3 in|c@9 other|d@1"))],
    "process-timestamps-and-count": [
        Scenario("late by what was forwarded", steps("5@0 35@0 9@0 25@0 31@90"), {"size": 10, "grace": 0})
    ],
    "punctuate-stream-time": [
        Scenario("grid from zero", ones("12 15 19 20 21 55 60 59 70"), {"interval": 10}),
        Scenario("first record at zero", ones("0 26 30"), {"interval": 10}),
        Scenario("first record at 26", ones("26 27 30 39 40"), {"interval": 10}),
        Scenario("headers are not a punctuation's", with_headers("a@12 b@20"), {"interval": 10}),
    ],
    "punctuate-wall-clock": [
        Scenario("jumps fire once", steps("+5 +5 +9 +1 +35 +4 +1"), {"interval": 10}),
        Scenario("records do not move it", steps("a@100 +5 b@200 +5 c@1"), {"interval": 10}),
    ],
    "punctuate-anchored-stream-time": [
        Scenario("grid from five", ones("5 6 14 15 16 44 45 50 65"), {"interval": 10, "start": 5}),
        Scenario("before the grid", ones("1 4 5 9 15"), {"interval": 10, "start": 5}),
    ],
    "punctuate-anchored-wall-clock": [
        Scenario("grid from three", steps("+2 +1 +9 +1 +25 +5 +1"), {"interval": 10, "start": 3})
    ],
    "punctuate-cancel": [Scenario("twice", steps("+10 +10 +10 +10"), {"interval": 10, "times": 2})],
    "punctuate-flush": [Scenario("in key order", steps("b=x@5 a=y@3 b=z@1 +10 +10 a=q@2 +10"), {"interval": 10})],
}
