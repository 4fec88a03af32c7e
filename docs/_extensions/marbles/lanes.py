"""The lanes of a picture, from top to bottom: one for each topic, and one for each window of a windowed result."""

from __future__ import annotations

from dataclasses import dataclass

import headrace as hr
from marbles.run import Event, Run
from marbles.transcript import value_text, window_text


@dataclass(frozen=True)
class Mark:
    """An event on a lane, with the number of its step and the reasons for which it was dropped."""

    number: int
    event: Event
    key_text: str
    value_text: str
    notes: tuple[str, ...] = ()
    crossed_out: bool = False

    @property
    def text(self) -> str:
        """Everything that is written in the marble."""
        return f"{self.key_text} {self.value_text}".strip()


@dataclass(frozen=True)
class Lane:
    """A topic, the window of a key, or a heading above such windows, which has no marks and no line."""

    label: str
    marks: tuple[Mark, ...]
    window: hr.Window | None = None
    is_heading: bool = False


def input_lanes(run: Run) -> list[Lane]:
    """One lane for each input topic, and one for the wall clock if it advances."""
    return [Lane(topic, tuple(_input_marks(run, topic))) for topic in run.input_topics]


def _input_marks(run: Run, topic: str) -> list[Mark]:
    marks = []
    for step in run.steps:
        event = step.input
        if event.topic != topic:
            continue
        key, value = ("", f"+{event.value}") if event.is_clock else (value_text(event.key), value_text(event.value))
        notes = tuple(dict.fromkeys(step.dropped))
        marks.append(Mark(step.number, event, key, value, notes, crossed_out=bool(notes) and not step.outputs))
    return marks


def output_lanes(run: Run) -> list[Lane]:
    """One lane for each output topic; a windowed one gets a heading and a lane for each key and window."""
    lanes = []
    for topic in run.output_topics:
        results = [(step.number, event) for step in run.steps for event in step.outputs if event.topic == topic]
        if any(event.window for _, event in results):
            lanes.append(Lane(topic, (), is_heading=True))
            lanes += _window_lanes(results, end_included=run.window_end_included)
        else:
            marks = (Mark(number, event, value_text(event.key), value_text(event.value)) for number, event in results)
            lanes.append(Lane(topic, tuple(marks)))
    return lanes


def _window_lanes(results: list[tuple[int, Event]], *, end_included: bool) -> list[Lane]:
    """A lane for each window and key, by start and end; its label names the key unless all have the same."""
    by_window: dict[tuple[int, int, str], list[tuple[int, Event]]] = {}
    for number, event in results:
        assert event.window is not None
        place = (event.window.start_ms, event.window.end_ms, value_text(event.key))
        by_window.setdefault(place, []).append((number, event))
    one_key = len({key for *_, key in by_window}) == 1
    lanes = []
    for (*_, key), updates in sorted(by_window.items()):
        first = updates[0][1]
        window = window_text(first, end_included=end_included)
        label = window if one_key else f"{key} {window}"
        marks = tuple(Mark(number, event, "", value_text(event.value)) for number, event in updates)
        lanes.append(Lane(label, marks, first.window))
    return lanes
