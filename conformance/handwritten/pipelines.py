"""Whole applications."""

from __future__ import annotations

from conformance.handwritten.shorthand import ones, steps
from conformance.scenario import Scenario

_TUMBLING = {"size": 10, "grace": 2}

SCENARIOS: dict[str, list[Scenario]] = {
    "clicks-per-country": [
        Scenario(
            "two countries",
            steps(
                "users|ann=CH@0 users|bob=DE@0 clicks|ann=/@3 clicks|bob=/@4 clicks|ann=/a@5 clicks|eve=/@6 "
                "users|ann=DE@7 clicks|ann=/b@8 clicks|bob=/@12 clicks|ann=/@40"
            ),
            _TUMBLING,
        )
    ],
    "time-window-filtered-count": [
        Scenario("quirk 4 a tombstone at first", ones("5 6 7 15 16"), _TUMBLING, cached=True)
    ],
    "time-window-table-aggregate": [
        Scenario("quirk 4 subtracting what never was", ones("5 15 6 16 7"), {"size": 10, "grace": 20}, cached=True)
    ],
    "suppress-time-window-and-aggregate": [
        Scenario("quirk 3 the old value", ones("5 6 15 16 40 80"), _TUMBLING, cached=True)
    ],
    "suppress-and-join": [
        Scenario(
            "the row before",
            steps("left|a@5 right|x@6 left|j=b@15 right|y@7 left|c@16 right|z@8 left|j=d@30"),
            {"limit": 10},
        )
    ],
}
