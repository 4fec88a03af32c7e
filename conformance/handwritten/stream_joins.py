"""Joins with a stream on the left."""

from __future__ import annotations

from conformance.handwritten.shorthand import steps, with_headers
from conformance.scenario import Scenario

_GRACE_5 = {"difference": 10, "grace": 5}
_NO_GRACE = {"difference": 10, "grace": 0}
_AFTER = {"difference": 10, "before": 0, "grace": 0}
_VERSIONS = "ab@10 x@5 cd@20 y@15 z@9 z@10 _@25 q@24 w@24"
_AS_OF = " ".join(f"stream|s{time}@{time}" for time in (9, 10, 14, 15, 19, 20, 23, 24, 25, 40))

SCENARIOS: dict[str, list[Scenario]] = {
    "stream-stream-join": [
        Scenario(
            "reference",
            steps(
                "left|l0@0 right|r10@10 right|r11@11 left|l5@5 right|r0@0 "
                "left|z=z@100 right|r45@45 left|l45@45 right|z=y@91"
            ),
            _GRACE_5,
        ),
        Scenario("clicks and ads", steps("left|click@20 right|ad@10 right|j=ad@10 left|j=click@20"), _NO_GRACE),
        Scenario("same key and time twice", steps("left|a@5 left|a@5 right|x@5 right|x@5 left|b@5"), _NO_GRACE),
        Scenario("null keys and values", steps("left|_=a@5 right|_@6 right|x@7 left|_@8 left|b@9"), _NO_GRACE),
        Scenario("headers", [*with_headers("left|a@5"), *steps("right|x@6"), *with_headers("left|b@7")], _NO_GRACE),
        Scenario(
            "windows that end before time 0 reach it",
            steps("right|x@0 right|y@1 left|a@3 left|b@11"),
            {"difference": 10, "after": -5, "grace": 0},
        ),
        Scenario(
            "without windows and grace nothing is kept", steps("left|a@5 right|x@5"), {"difference": 0, "grace": 0}
        ),
        Scenario("without windows", steps("left|a@5 right|x@5 right|y@6"), {"difference": 0, "grace": 1}),
    ],
    "stream-stream-left-join": [
        Scenario(
            "reference",
            steps(
                "left|l0@0 right|r15@15 right|z=z@16 left|l20@20 left|_=nk@23 left|f=f@90 "
                "left|q=q79@79 left|q=q80@80 left|q=q85@85 right|zz=zz@106"
            ),
            _GRACE_5,
        ),
        Scenario(
            "quirk 2 due but not yet emitted",
            steps("left|a=a@0 left|b=b@9 left|c=c@10 right|x=x@11 right|x=x@20 right|x=x@21"),
            _NO_GRACE,
        ),
        Scenario(
            "only looking ahead",
            steps("left|l0@0 right|r10@10 right|r11@11 left|l5@5 left|l11@11 left|l12@12 right|z=z@22 right|z=z@23"),
            _AFTER,
        ),
        Scenario(
            "one clock for all keys",
            steps("left|A=a0@0 left|A=a5@5 left|B=b0@0 right|B=r1@1"),
            {"difference": 1, "grace": 0},
        ),
        Scenario("null keys and values", steps("left|_=a@5 right|_=x@6 left|_@7 left|_=_@8 right|k=x@9"), _NO_GRACE),
        Scenario(
            "headers", [*with_headers("left|a=a@5 left|b=b@6"), *with_headers("right|a=x@7 right|z=z@40")], _NO_GRACE
        ),
    ],
    "stream-stream-outer-join": [
        Scenario(
            "reference",
            steps("left|a=l0@0 right|b=r1@1 right|a=r10@10 left|c=l11@11 left|c=l12@12 right|d=r5@5 right|d=r30@30"),
            _NO_GRACE,
        ),
        Scenario(
            "equal times, right side first",
            steps("right|z=z@0 right|a=a@0 left|a0=a0@0 left|b=b@0 left|x=x@50"),
            _NO_GRACE,
        ),
        Scenario(
            "quirk 2 a look ends behind the first of each side",
            steps("left|a=a@0 left|b=b@5 right|c=c@6 left|d=d@9 right|x=x@11 right|y=y@17 right|z=z@20"),
            _NO_GRACE,
        ),
        Scenario("null keys on both sides", steps("left|_=a@5 right|_=x@6 left|_@7 right|_=_@8"), _NO_GRACE),
        Scenario(
            "quirk 2 a look ends at the second record of one key and time",
            steps("left|a=1@1 left|p=2@9 right|a=3@9 left|p=4@9 right|a=5@10 left|a=6@10 left|p=7@18"),
            {"difference": 10, "after": 3, "grace": 5},
        ),
    ],
    "stream-self-join": [Scenario("reference", steps("1@0 2@5 3@2"), _NO_GRACE)],
    "stream-stream-left-join-by-head": [
        Scenario(
            "null keys survive the repartition",
            [["left", "k", "", 5], *steps("right|_@6 left|ab@7 right|ax@8")],
            _NO_GRACE,
        ),
        Scenario(
            "null keys of the right side advance stream time",
            [*steps("left|ab@7"), ["right", "k", "", 100], *steps("left|ac@50 right|ax@51")],
            _NO_GRACE,
        ),
    ],
    "left-join-and-count-after-repartition": [
        Scenario("null keys survive the repartition", steps("right|_=a@1 right|b@2 left|_=c@3 left|d@4"), _NO_GRACE)
    ],
    "stream-stream-join-by-head": [
        Scenario(
            "null keys do not survive it", [["left", "k", "", 5], *steps("right|_@6 left|ab@7 right|ax@8")], _NO_GRACE
        )
    ],
    "stream-table-join": [
        Scenario("reference", steps("stream|s1@10 table|t1@20 stream|s2@5 table|_@21 stream|s3@30"), cached=True),
        Scenario("nulls", steps("stream|_=a@1 stream|_@2 table|_=t@3 table|t@4 stream|_@5 stream|b@1")),
        Scenario("headers", [*with_headers("table|t@1"), *with_headers("stream|a@2")]),
    ],
    "stream-table-left-join": [
        Scenario("reference", steps("stream|s1@10 table|t1@20 stream|s2@5 table|_@21 stream|s3@30"), cached=True),
        Scenario(
            "the table as of the stream's time",
            steps("stream|s5@5 stream|s25@25 stream|s15@15 stream|s40@40 table|t10@10 table|t30@30 table|_@50"),
            together=True,
        ),
        Scenario("null key joins nothing", steps("table|t@1 stream|_=a@1 stream|_=_@2 stream|_@3")),
    ],
    "stream-table-left-join-by-head": [
        Scenario("null keys survive the repartition", [["stream", "k", "", 1], *steps("table|x=t@2 stream|xy@1")])
    ],
    "stream-table-join-by-head": [
        Scenario("null keys do not survive it", [["stream", "k", "", 1], *steps("table|x=t@2 stream|xy@1")])
    ],
    "stream-versioned-table-left-join": [
        Scenario(
            "as of every time",
            steps(" ".join(f"table|{word}" for word in _VERSIONS.split()) + " " + _AS_OF),
            {"history": 10},
        ),
        Scenario(
            "as of the record",
            steps("table|t10@10 stream|s12@12 table|t11@11 stream|s12@12 stream|s9@9"),
            {"history": 100},
        ),
    ],
    "stream-table-left-join-with-grace": [
        Scenario(
            "reference",
            steps(
                "table|t10@10 stream|s5@5 stream|s12@12 table|t11@11 stream|s9@9 stream|s14@14 stream|s17@17 "
                "stream|s11@11 stream|s12b@12 stream|j=x@30"
            ),
            {"history": 100, "grace": 5},
        ),
        Scenario(
            "headers are their own",
            [*steps("table|t@1"), *with_headers("stream|a@5 stream|b@6"), *steps("stream|j=x@30")],
            {"history": 100, "grace": 5},
        ),
        Scenario("quirk 11 null key", steps("table|t@1 stream|_=a@5"), {"history": 100, "grace": 5}),
    ],
    "global-table-join": [
        Scenario("reference", steps("table|a=t1@0 stream|a1@5 stream|_=a2@6 stream|b3@7 stream|_@8")),
        Scenario("no mapped key", [*steps("table|a=t1@0"), ["stream", "k", "", 5], ["stream", None, "", 6]]),
    ],
    "global-table-left-join": [
        Scenario("reference", steps("table|a=t1@0 stream|a1@5 stream|_=a2@6 stream|b3@7 stream|_@8")),
        Scenario("quirk 8 no mapped key", [*steps("table|a=t1@0"), ["stream", "k", "", 5], ["stream", None, "", 6]]),
        Scenario("tombstone", steps("table|a=t1@9 stream|a1@5 table|a=_@3 stream|a2@6 table|_=x@1")),
    ],
    "stream-join-own-count": [Scenario("count before join", steps("a@5 b@3 j=c@4 _=d@9 _@9 e@1"), cached=True)],
}
