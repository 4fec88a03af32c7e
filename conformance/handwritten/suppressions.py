"""Suppressed tables."""

from __future__ import annotations

from conformance.handwritten.shorthand import ones, steps, with_headers
from conformance.scenario import Scenario

_TUMBLING = {"size": 10, "grace": 2}

SCENARIOS: dict[str, list[Scenario]] = {
    "suppress-time-window": [
        Scenario("reference", ones("0 3 j1 11 5 12 6 z30"), _TUMBLING, cached=True),
        Scenario("one clock for all keys", ones("A0 A1 A2 A3 B0 B1 B2 B3"), {"size": 2, "grace": 0}, cached=True),
        Scenario("size 1, one clock for all keys", ones("A0 A1 A2 A3 B0 B1 B2 B3"), {"size": 1, "grace": 0}),
        Scenario("jump beyond retention", ones("0 3 j1 500 501 1000"), _TUMBLING, cached=True),
        Scenario("exactly at the end", ones("0 9 12 22"), _TUMBLING),
        Scenario("too many windows", ones("a1 b2 a3 c4"), {**_TUMBLING, "max_records": 2}),
        Scenario("headers", with_headers("a@5 b@3 z=c@12"), _TUMBLING),
    ],
    "suppress-time-window-aggregate": [
        Scenario("deleted windows stay silent", steps("a@1 del@2 j=b@3 z=x@30"), _TUMBLING, cached=True)
    ],
    "suppress-session-window": [
        Scenario("reference", ones("0 3 j7 j8 j9 4"), {"gap": 5, "grace": 0}, cached=True),
        Scenario("merged away", ones("0 10 5 j40"), {"gap": 5, "grace": 10}, cached=True),
    ],
    "suppress-sliding-window": [
        Scenario("quirk 10 final twice", ones("20 20 21 31"), {"difference": 10, "grace": 0}, cached=True)
    ],
    "suppress-time-limit": [
        Scenario("reference", steps("a@5 b@12 j=x@14 j=y@15 c@3 d@13 _@23"), {"limit": 10}, cached=True),
        Scenario("no limit at all", steps("a@5 b@12 _@3 _@4"), {"limit": 0}),
        Scenario(
            "a row keeps its first time",
            steps("b=1@5 a=1@5 b=2@6 c=1@1 d=1@9 e=1@9"),
            {"limit": 1000, "max_records": 2},
        ),
        Scenario(
            "shut down when full",
            steps("a=1@5 a=2@6 b=1@5 c=1@9"),
            {"limit": 1000, "max_records": 2, "when_full": "shut down"},
        ),
        Scenario("32 bytes a row", steps("b=1@5 a=1@6 c=1@7 d=1@8"), {"limit": 1000, "max_bytes": 64}),
        Scenario("one byte short of two rows", steps("b=1@5 a=1@6 c=1@7 d=1@8"), {"limit": 1000, "max_bytes": 63}),
        Scenario("held and sent twice", steps("a@0 b@5 c@10 d@11 e@15 f@25"), {"limit": 10}, cached=True),
        Scenario("headers", with_headers("a@5 b@12 j=x@22"), {"limit": 10}),
    ],
    "suppress-and-aggregate": [
        Scenario("another group", steps("A:a@0 B:b@5 B:c@10 A:d@11 j=B:e@15 A:f@25 j=_@40"), {"limit": 10}),
        Scenario("quirk 3 the old value", steps("A:a@0 A:b@5 A:c@10 A:d@11 A:e@15 A:f@25"), {"limit": 10}),
    ],
}
