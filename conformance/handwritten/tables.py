"""Tables and their aggregations."""

from __future__ import annotations

from conformance.handwritten.shorthand import steps, with_headers
from conformance.scenario import Scenario

_FILTER = "a@1 ab@2 b@3 c@4 _@5 _@6 xy@7 _@2"
_OLD = {"upgrade.from": "3.4"}
_ITEMS = "1=A:x@8 1=A:y@5 2=A:z@20 1=B:y@9 1=_@30"
_VERSIONS = "ab@10 x@5 cd@20 y@15 z@9 z@10 _@25"
_DELETIONS = "1=A:x@8 1=A:y@5 2=A:z@20 1=B:y@9 1=_@30 1=A:q@25 2=_@31"
_TIGERS = "z1=zoo1:tiger@8 z1=zoo1:tiger@9 z2=zoo1:lion@7 z1=zoo2:tiger@3"
_STORED: dict[str, bool] = {"stored": True}

SCENARIOS: dict[str, list[Scenario]] = {
    "table": [
        Scenario("out of order, stored", steps("a@10 b@5 b@5 _@7 _@8 _=c@9"), _STORED, cached=True),
        Scenario("out of order, not stored", steps("a@10 b@5 b@5 _@7 _@8 _=c@9"), {"stored": False}, cached=True),
        Scenario("headers", with_headers("a@1 _@2"), _STORED, cached=True),
    ],
    "to-table": [Scenario("tombstones and null keys", steps("a@10 b@5 _@7 _@8 _=c@9"), _STORED, cached=True)],
    "table-filter": [
        Scenario("source not stored", steps(_FILTER), {}, cached=True),
        Scenario("source stored", steps(_FILTER), _STORED, cached=True),
        Scenario("result stored", steps(_FILTER), {"result_stored": True}, cached=True),
        Scenario("both stored", steps(_FILTER), {"stored": True, "result_stored": True}, cached=True),
    ],
    "table-map-values": [
        Scenario("mapped to nothing", steps("a@5 nil@3 _@4 _@5"), {}, cached=True),
        Scenario("mapped to nothing, stored", steps("a@5 nil@3 _@4 _@5"), {"result_stored": True}, cached=True),
    ],
    "filtered-count": [Scenario("quirk 4 a tombstone at first", steps("a@5 b@6 c@3"), cached=True)],
    "versioned-table": [Scenario("older than the history", steps(_VERSIONS), {"history": 10})],
    "versioned-table-filter": [Scenario("older than the history", steps(_VERSIONS), {"history": 10})],
    "versioned-table-count-by-group": [
        Scenario("not the latest", steps("1=A:x@10 1=B:y@5 1=B:z@20 1=A:q@15 1=_@25"), {"history": 100})
    ],
    "reduce-versioned": [
        Scenario("late after a deletion", steps("a@10 del@20 b@15 c@30 d@5 del@31 e@35"), {"result_history": 100}),
        Scenario("older than the history", steps("a@10 del@20 b@9 c@30 d@5"), {"result_history": 10}),
    ],
    "table-filter-versioned-and-aggregate": [
        Scenario(
            "deletions", steps("1=A:x@8 1=A:y@5 2=A:z@20 1=B:y@9 1=_@30 1=A:q@25 2=_@31"), {"result_history": 100}
        ),
        Scenario(
            "deletions of a versioned table",
            steps(_DELETIONS),
            {"versioned": True, "history": 100, "result_history": 100},
        ),
    ],
    "table-count-by-key": [
        Scenario("kip-904 no transient zero", steps("1=x@8 1=x@9 1=_@5 1=_@15 1=x@3"), cached=True),
        Scenario("before kip-904", steps("1=x@8 1=x@9 1=_@5 1=_@15 1=x@3"), config=_OLD, cached=True),
        Scenario("headers", with_headers("1=x@8 1=y@9")),
    ],
    "table-count-by-value": [Scenario("moving from group to group", steps("1=A@8 1=B@9 1=_@3"), cached=True)],
    "table-aggregate": [
        Scenario("subtract before add", steps(_ITEMS), cached=True),
        Scenario("two events before kip-904", steps(_ITEMS), config=_OLD, cached=True),
        Scenario("one event after 3.4", steps(_ITEMS), config={"upgrade.from": "3.5"}),
        Scenario("one event with 4.0", steps(_ITEMS), config={"upgrade.from": "4.0"}),
        Scenario("two events with 2.8", steps(_ITEMS), config={"upgrade.from": "2.8"}),
        Scenario("no group", steps("1=null:x@8 1=A:y@9 1=null:z@5 2=null:q@7 2=_@8"), cached=True),
        Scenario("headers", with_headers("1=A:x@8 1=A:y@5 1=B:z@9")),
    ],
    "table-reduce": [
        Scenario("nothing left", steps("1=A:x@8 1=A:y@5 1=_@3 1=A:y@2"), cached=True),
        Scenario("nothing left before kip-904", steps("1=A:x@8 1=A:y@5 1=_@3 1=A:y@2"), config=_OLD, cached=True),
    ],
    "table-set": [
        Scenario("kip-904 the zoo keeps its tiger", steps(_TIGERS), cached=True),
        Scenario("before kip-904", steps(_TIGERS), config=_OLD, cached=True),
    ],
    "table-aggregate-or-nothing": [
        Scenario("nothing, no key, no item", [*steps("1=A:x@1 1=skip@2 1=A:y@3 1=null:q@4"), ["in", "1", "A:", 5]])
    ],
    "count-of-counts": [
        Scenario("quirk 4 a group that never was", steps("a@5 b@6 j=a@3 c@4 _@9"), cached=True),
    ],
}
