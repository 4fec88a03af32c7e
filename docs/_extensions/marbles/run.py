"""Executes a block of a page by the test driver, and keeps what went in and what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver

WALL_CLOCK = "wall clock"
FOREVER_MS = 1 << 62  # a window that ends later never ends


@dataclass(frozen=True)
class Event:
    """A record of a topic, or an advance of the wall clock, whose value is how far it advances."""

    topic: str
    key: Any
    value: Any
    timestamp_ms: int
    window: hr.Window | None = None

    @property
    def is_clock(self) -> bool:
        """Whether this is an advance of the wall clock."""
        return self.topic == WALL_CLOCK


@dataclass(frozen=True)
class Step:
    """One input, everything that came out because of it, and the reasons for which records were dropped."""

    number: int
    input: Event
    outputs: tuple[Event, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """All steps, and the topics in the order in which the code names them."""

    steps: tuple[Step, ...]
    input_topics: tuple[str, ...]
    output_topics: tuple[str, ...]
    window_end_included: bool


def execute(code: str, where: str = "<marbles>") -> Run:
    """Executes a block and pipes its `inputs` through its topology.

    A block may use `hr`, `serdes`, `timedelta`, `ms` and a fresh `builder`. It defines `inputs`, a list of tuples
    `(topic, key, value, timestamp_ms)`; a `timedelta` among them advances the wall clock. It may define `topology`;
    otherwise the builder builds it.
    """
    names: dict[str, Any] = {
        "hr": hr,
        "serdes": serdes,
        "timedelta": timedelta,
        "ms": _milliseconds,
        "builder": hr.StreamsBuilder(),
    }
    exec(compile(code, where, "exec"), names)  # noqa: S102 - the blocks are part of this repository
    topology = names.get("topology") or names["builder"].build()
    with TopologyTestDriver(topology, wall_clock_ms=0) as driver:
        steps = tuple(_steps(driver, names["inputs"]))
    return Run(
        steps,
        _in_order_of(code, {step.input.topic for step in steps}),
        _in_order_of(code, {event.topic for step in steps for event in step.outputs}),
        window_end_included="SessionWindows" in code or "SlidingWindows" in code,
    )


def _milliseconds(number: int) -> timedelta:
    return timedelta(milliseconds=number)


def _steps(driver: TopologyTestDriver, inputs: list[Any]) -> Iterator[Step]:
    wall_clock = timedelta(0)
    dropped: Counter[str] = Counter()
    for number, given in enumerate(inputs, 1):
        if isinstance(given, timedelta):
            wall_clock += given
            driver.advance_wall_clock(given)
            event = Event(WALL_CLOCK, None, _in_ms(given), _in_ms(wall_clock))
        else:
            event = Event(*given)
            driver.input_topic(event.topic).pipe(event.key, event.value, event.timestamp_ms)
        before, dropped = dropped, _dropped(driver)
        yield Step(number, event, tuple(_outputs(driver)), tuple(sorted((dropped - before).elements())))


def _outputs(driver: TopologyTestDriver) -> Iterator[Event]:
    for topic in sorted(driver.produced_topics()):
        for record in driver.output_topic(topic):
            key, window = record.key, None
            if isinstance(key, hr.Windowed):
                key, window = key.key, key.window
            yield Event(topic, key, record.value, record.timestamp_ms, window)


def _dropped(driver: TopologyTestDriver) -> Counter[str]:
    """How many records were dropped so far, by reason."""
    reasons: Counter[str] = Counter()
    for counters in driver.metrics().values():
        reasons.update(counters.get("dropped", {}))
    return reasons


def _in_ms(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


def _in_order_of(code: str, topics: set[str]) -> tuple[str, ...]:
    """Topics by their first place in the code; the wall clock, which code does not name as a topic, comes last."""
    return tuple(sorted(topics, key=lambda topic: (topic == WALL_CLOCK, code.find(f'"{topic}"'), topic)))
