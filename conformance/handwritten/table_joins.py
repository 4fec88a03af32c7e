"""Joins of tables."""

from __future__ import annotations

from conformance.handwritten.shorthand import steps, with_headers
from conformance.scenario import Scenario

_MATRIX = (
    "left|l1@10 right|r1@5 left|l2@7 right|_@20 right|_@21 left|_@3 left|_@4 "
    "right|r2@30 left|l3@25 left|_@26 right|_@27"
)
_FOREIGN = (
    "left|p1=A:1@10 right|A=a1@5 left|p1=A:2@7 left|p2=A:3@30 right|A=a2@8 left|p1=B:1@12 right|B=b1@40 "
    "right|A=_@50 left|p1=_@3 left|p1=_@4 left|p3=null@60 left|p3=A:9@61 left|p3=null2@62 left|p3=A:9@63 "
    "right|A=a3@1 left|p3=A:9@64 left|p3=B:9@65"
)


def _matrix() -> list[Scenario]:
    return [
        Scenario("reference", steps(_MATRIX), cached=True),
        Scenario("reference, stored", steps(_MATRIX), {"stored": True}, cached=True),
        Scenario("null keys", steps("left|_=a@1 right|_=b@2 left|a@3 right|b@2")),
        Scenario("headers", [*with_headers("left|a@5"), *steps("right|x@3"), *with_headers("right|_@9")]),
    ]


def _foreign() -> list[Scenario]:
    return [
        Scenario("reference", steps(_FOREIGN), cached=True),
        Scenario(
            "quirk 6 the foreign key changes", steps("right|A=a@1 right|B=b@2 left|p=A:1@3 left|p=B:1@4 left|p=_@5")
        ),
        Scenario("quirk 7 no foreign key", steps("right|A=a@1 left|p=null@2 left|p=A:1@3 left|p=null@4 left|p=_@5")),
        Scenario(
            "unchanged without a partner", steps("left|p=A:1@3 left|p=A:1@4 left|p=A:2@5 right|A=_@6 right|A=a@1")
        ),
        Scenario("headers", [*with_headers("left|p=A:1@5"), *with_headers("right|A=a@3"), *steps("left|p=A:2@4")]),
    ]


_KINDS = ({"kind": "inner"}, {"kind": "left"}, {"kind": "outer"})
_FILTERED = (
    "right|ab@1 left|a@2 right|x@3 left|cd@4 right|y@5 right|z@6 right|ef@7 left|b@8 left|c@9 right|_@10 left|_@11"
)
_FILTERED_FOREIGN = (
    "left|p=A:1@1 right|A=x@2 right|A=xy@3 right|A=y@4 right|A=z@5 right|A=_@6 right|A=zz@7 left|p=A@8 left|p=B@9"
)
_OWN = "in|a=x@1 in|a=y@2 in|a=_@3 in|b=xy@4 in|a=xyz@5 in|b=_@6 in|b=_@7"
_OF_ITSELF = "in|A=A:x@1 in|A=A:x@2 in|B=A:y@3 in|A=B:z@4 in|A=A:u@5 in|A=_@6 in|C=C:v@7 in|C=C:w@8"


def _each_kind(name: str, text: str, *, kinds: int = 3) -> list[Scenario]:
    return [Scenario(f"{name} kind={params['kind']}", steps(text), params) for params in _KINDS[:kinds]]


SCENARIOS: dict[str, list[Scenario]] = {
    "table-table-join": _matrix(),
    "table-table-left-join": _matrix(),
    "table-table-outer-join": _matrix(),
    "table-table-join-and-aggregate": [
        Scenario("old values", steps("left|A:1@10 right|x@5 right|y@6 left|A:2@7 left|B:2@8 right|_@9 left|_@10"))
    ],
    "versioned-tables-join": [
        Scenario(
            "not the latest", steps("left|l10@10 right|r5@5 left|l7@7 right|r20@20 right|r15@15"), {"history": 100}
        )
    ],
    "two-filtered-tables-join": _each_kind("deletions of rows that never were", _FILTERED),
    "two-filtered-tables-join-and-aggregate": _each_kind("deletions of rows that never were", _FILTERED),
    "two-filtered-tables-foreign-key-join": _each_kind("deletions of rows that never were", _FILTERED_FOREIGN, kinds=2),
    "table-join-own-last": [Scenario("one moment for all copies", steps(_OWN))],
    "table-join-own-mappings": [Scenario("one moment for all copies", steps(_OWN))],
    "table-join-own-aggregate": [Scenario("one moment for all copies", steps(_OWN))],
    "foreign-key-join-of-rows-that-change-twice": _each_kind(
        "only the last", "right|A=a@73 left|p=A:x@80 left|q=A:y@81 right|A=b@90 left|p=_@91", kinds=2
    ),
    "foreign-key-self-join": _each_kind("rows that refer to themselves", _OF_ITSELF, kinds=2),
    "foreign-key-join-own-mapping": _each_kind("rows that refer to themselves", _OF_ITSELF, kinds=2),
    "foreign-key-join": _foreign(),
    "foreign-key-left-join": _foreign(),
}
