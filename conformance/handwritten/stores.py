"""The stores of processors."""

from __future__ import annotations

from conformance.handwritten.shorthand import steps, with_headers
from conformance.scenario import Scenario

_SEGMENTS = {"size": 10, "retention": 200_000}

SCENARIOS: dict[str, list[Scenario]] = {
    "store-lru": [
        Scenario("a get is a use", steps("a=x@1 b=y@2 a=get@3 c=z@4 b=get@5 d=w@6"), {"entries": 2}),
        Scenario("a deletion makes room", steps("a=x@1 b=y@2 a=_@3 c=z@4 b=get@5 d=w@6 a=_@7"), {"entries": 2}),
    ],
    "store-windows-backward": [
        Scenario("several segments", steps("a@5 b@100005 c@60000 d@200010 e@7 f@150000 g@99999"), _SEGMENTS)
    ],
    "store-duplicates-backward": [
        Scenario("equal times", steps("a@5 b@5 _@5 c@15 d@5 e@15 f@3"), {"size": 10, "retention": 1_000}),
        Scenario("several segments", steps("a@5 b@100005 c@60000 d@200010 e@7 f@100005 g@99999"), _SEGMENTS),
    ],
    "store-versions": [
        Scenario("deletions", steps("a@10 _@30 b@20 c@40 _@5 _@40 d@40"), {"history": 1_000}),
        Scenario("other keys", steps("k=a@10 j=b@15 k=c@20 j=_@25 k=d@15"), {"history": 1_000}),
    ],
    "store-headers": [Scenario("headers", with_headers("a@5 b@3 _@4 c@12 d@14"))],
}
