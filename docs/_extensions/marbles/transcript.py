"""A run as text: the comment lines at the end of a block, which show its results where no picture is drawn."""

from __future__ import annotations

from typing import Any

from marbles.run import FOREVER_MS, Event, Run, Step


def value_text(value: Any) -> str:
    """A key or a value as pictures and transcripts show it: strings without quotes."""
    return value if isinstance(value, str) else repr(value)


def window_text(event: Event, *, end_included: bool) -> str:
    """The window of a result: `[0, 10)` without its end, `[0, 10]` with it; `[0, ∞)` if it never ends."""
    assert event.window is not None
    start_ms, end_ms = event.window.start_ms, event.window.end_ms
    return f"[{start_ms}, {'∞' if end_ms >= FOREVER_MS else end_ms}{']' if end_included else ')'}"


def event_text(event: Event, *, end_included: bool) -> str:
    """An event as `topic (key, value @ timestamp)`."""
    if event.is_clock:
        return f"wall clock +{event.value} ms"
    key = value_text(event.key)
    if event.window is not None:
        key = f"{key} {window_text(event, end_included=end_included)}"
    return f"{event.topic} ({key}, {value_text(event.value)} @ {event.timestamp_ms})"


def result_texts(step: Step, *, end_included: bool) -> list[str]:
    """What came out of a step, one line for each record, and why records were dropped; `nothing` if neither."""
    lines = [event_text(event, end_included=end_included) for event in step.outputs]
    lines += [f"dropped: {reason}" for reason in dict.fromkeys(step.dropped)]
    return lines or ["nothing"]


def transcript(run: Run) -> str:
    """The comment lines of a run: input on the left, results on the right."""
    included = run.window_end_included
    inputs = [event_text(step.input, end_included=included) for step in run.steps]
    width = max(map(len, inputs))
    lines = []
    for step, given in zip(run.steps, inputs, strict=True):
        first, *others = result_texts(step, end_included=included)
        lines.append(f"# {given:{width}}  ->  {first}")
        lines += [f"# {'':{width}}      {other}" for other in others]
    return "\n".join(lines)


def split_block(body: str) -> tuple[str, str]:
    """Separates the code of a block from the transcript, which is the last group of comment lines."""
    lines = body.rstrip("\n").split("\n")
    end = len(lines)
    while end and lines[end - 1].startswith("# "):
        end -= 1
    return "\n".join(lines[:end]).rstrip("\n"), "\n".join(lines[end:])
