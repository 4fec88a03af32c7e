"""Windowed aggregations and window-close emission."""

from __future__ import annotations

from conformance.handwritten.shorthand import ones, steps, with_headers
from conformance.scenario import Scenario

_KIP_259 = "1 2 5 6 4 3 7 9"
_TUMBLING = {"size": 10, "grace": 2}
_HOPPING = {"size": 10, "advance": 5, "grace": 0}
_SESSION = {"gap": 5, "grace": 0}
_SLIDING = {"difference": 10, "grace": 0}
_FINAL = "0 3 j1 11 5 12 6 z30 z52"

SCENARIOS: dict[str, list[Scenario]] = {
    "time-window-count": [
        Scenario("kip-259 size 5", ones(_KIP_259), {"size": 5, "grace": 100}, cached=True),
        Scenario("kip-259 size 10", ones(_KIP_259), {"size": 10, "grace": 100}, cached=True),
        Scenario("retention", ones("0 12 j29 9 j30 12 9 j40 12"), {"size": 10, "grace": 20}, cached=True),
        Scenario("hopping", ones("0 9 13 9 21 10"), {"size": 10, "advance": 4, "grace": 3}, cached=True),
        Scenario("null key leaves time alone", steps("a@5 _=x@1000 b@6"), {"size": 10, "grace": 0}),
        Scenario("null values count", steps("a@5 _@6 _@16 b@17"), {"size": 10, "grace": 0}, cached=True),
        Scenario("one clock for all keys", ones("A0 A1 A2 A3 B0 B1 B2 B3"), {"size": 2, "grace": 0}, cached=True),
        Scenario("size 1, one clock for all keys", ones("A0 A1 A2 A3 B0 B1 B2 B3"), {"size": 1, "grace": 0}),
        Scenario("closed exactly at the end", ones("0 10 9 19 20 10"), {"size": 10, "grace": 0}),
        Scenario("headers", with_headers("a@5 b@3"), {"size": 10, "grace": 0}, cached=True),
    ],
    "time-window-reduce": [
        Scenario("null values", steps("_@5 a@6 _@7 b@8 _@25 c@26"), {"size": 10, "grace": 0}, cached=True)
    ],
    "time-window-aggregate": [
        Scenario("null values", steps("_@5 a@6 _@7 b@8 _@25 c@26"), {"size": 10, "grace": 0}, cached=True)
    ],
    "time-window-aggregate-delete": [
        Scenario("deleted and begun anew", steps("a@9 del@5 b@3 del@2 del@1"), {"size": 10, "grace": 100}, cached=True)
    ],
    "time-window-final-count": [
        Scenario("tumbling", ones(_FINAL), _TUMBLING, cached=True),
        Scenario("hopping", ones("0 7 10 14 15 40"), _HOPPING, cached=True),
        Scenario("hopping, no jump", ones("0 7 10 14 15 19 20 24 25"), _HOPPING, cached=True),
        Scenario("quirk 1 jump beyond retention", ones("0 3 j1 500 501 1000"), _TUMBLING, cached=True),
        Scenario("many keys close together", ones("c1 a2 b3 a4 c5 z30 z31"), _TUMBLING, cached=True),
        Scenario("headers", with_headers("a@5 b@3 z=c@12"), _TUMBLING, cached=True),
    ],
    "sliding-window-aggregate": [
        Scenario(
            "reference", steps("a@15 b@20 c@26 d@18 e@20 f@40 g@31"), {"difference": 10, "grace": 100}, cached=True
        ),
        Scenario("early", steps("a@3 b@7 c@5 d@12 e@0"), {"difference": 10, "grace": 100}, cached=True),
        Scenario("late", steps("a@20 j=b@35 c@20 d@19 e@25 j=b@36 f@20"), {"difference": 10, "grace": 5}, cached=True),
        Scenario("null key and null value", steps("a@20 _=b@90 _@95 c@21"), _SLIDING),
        Scenario("headers", with_headers("a@15 b@20"), _SLIDING, cached=True),
    ],
    "sliding-window-final-count": [
        Scenario("reference", ones("20 20 21 31 32"), _SLIDING, cached=True),
        Scenario("early records", ones("3 5 12 16 40"), _SLIDING, cached=True),
        Scenario("quirk 1 jump beyond retention", ones("20 21 500 501"), _SLIDING, cached=True),
    ],
    "session-window-aggregate": [
        Scenario("reference", steps("a@0 b@10 c@5 d@5 e@15 f@40 g@24 h@25"), {"gap": 5, "grace": 10}, cached=True),
        Scenario("merge within the gap", steps("x=a@0 y=b@4 x=a@5"), _SESSION, cached=True),
        Scenario("no merge with a closed one", steps("x=a@0 y=b@5 x=a@5"), _SESSION, cached=True),
        Scenario("null values", steps("_@0 a@3 _@20"), _SESSION),
        Scenario("quirk 12 headers", with_headers("a@0 b@3 c@3"), _SESSION, cached=True),
    ],
    "session-window-count": [
        Scenario("quirk 5 the exact boundary", ones("10 10 j15 10 j16 11 10"), _SESSION, cached=True),
        Scenario("one long session", ones("0 5 10 15 3 20 8"), {"gap": 5, "grace": 50}, cached=True),
    ],
    "session-window-reduce": [
        Scenario("null values", steps("_@0 a@3 _@5 b@20 _@21"), _SESSION, cached=True),
    ],
    "session-window-final-count": [
        Scenario("reference", ones("0 3 j7 j8 j9 j30"), _SESSION, cached=True),
        Scenario("no jump", ones("0 3 j7 j8 j9 j12 j16 j21 j24 j30 j31"), _SESSION, cached=True),
        Scenario("quirk 1 jump beyond retention", ones("0 3 j1 500 510"), _SESSION, cached=True),
    ],
    "unlimited-window-count": [Scenario("before the start", ones("5 10 9 30 11 2"), {"start": 10}, cached=True)],
}
