"""What we write where we differ from Kafka Streams on purpose, by a model that shares nothing with the library."""

from __future__ import annotations

# Their wall-clock schedules have no shift, and one counts in memory: with the task they begin anew.
BEGIN_ANEW = {"punctuate-wall-clock", "punctuate-cancel", "punctuate-flush"}


def expected(golden, restarts=()):
    """The outputs of a golden when tasks are made anew before the steps of these numbers."""
    model = _DELIBERATE.get(golden.id)
    return golden.outputs if model is None else model(golden, set(restarts))


def _stream_time_from_the_first_record(golden, restarts):
    interval, time_ms, due_ms, written = golden.params["interval"], -1, None, []
    for number, (_, key, value, timestamp_ms, *headers) in enumerate(golden.steps):
        time_ms = max(time_ms, timestamp_ms)
        written.append([key, value, timestamp_ms, *(listed for listed in headers if listed)])
        if due_ms is None or number in restarts:
            due_ms = time_ms
        if due_ms <= time_ms:
            written.append(["tick", str(time_ms), time_ms])
        while due_ms <= time_ms:
            due_ms += interval
    return {"out": written}


_DELIBERATE = {"punctuate-stream-time": _stream_time_from_the_first_record}
