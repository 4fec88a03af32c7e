"""When schedules are due: the arithmetic, and the agenda against a model that checks every millisecond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._core.time.punctuation import NEVER, UNKNOWN, Agenda, Grid, after, at_or_after
from headrace._state.bytes.memory import MemoryStore
from headrace.model.processor import PunctuationType

STREAM, WALL = PunctuationType


@pytest.mark.parametrize(
    ("interval", "shift", "clock", "due"),
    [(10, 0, 26, 30), (10, 0, 30, 30), (10, 5, 5, 5), (10, 5, 6, 15), (10, 25, 0, 5), (10, -3, 0, 7), (10, 0, 0, 0)],
)
def test_first_due_time_is_the_first_grid_point_at_or_after_the_clock(interval, shift, clock, due):
    assert at_or_after(clock, interval, shift % interval) == due
    assert at_or_after(clock, interval, shift) == due


@given(time_ms=st.integers(-99, 99), interval=st.integers(1, 30), shift=st.integers(-99, 99))
def test_grid_points_equal_those_of_a_search(time_ms, interval, shift):
    points = [point for point in range(-300, 300) if (point - shift) % interval == 0]
    assert at_or_after(time_ms, interval, shift) == min(point for point in points if point >= time_ms)
    assert after(time_ms, interval, shift) == min(point for point in points if point > time_ms)


def firings(agenda, kind, clock_ms):
    fired = []
    agenda.fire(kind, clock_ms, lambda schedule: fired.append(schedule.callback))
    return fired


CLOCKS = st.lists(st.integers(0, 15), min_size=1, max_size=30).map(
    lambda steps: [sum(steps[: n + 1]) for n in range(len(steps))]
)


@given(
    clocks=CLOCKS,
    interval=st.integers(1, 12),
    shift=st.none() | st.integers(-20, 30),
    scheduled_at=st.integers(0, 5),
    restarts=st.sets(st.integers(1, 29)),
)
def test_stream_time_schedules_fire_as_in_a_model_that_checks_every_millisecond(
    clocks, interval, shift, scheduled_at, restarts
):
    """After a restart, a schedule with a shift continues and one without a shift starts again."""
    state, expected, fired = MemoryStore(), [], []
    agenda, last, anchor = Agenda(state), None, None
    for number, clock in enumerate(clocks):
        if number in restarts and number > scheduled_at:
            agenda, anchor = Agenda(state), None
            agenda.add("node", Grid(STREAM, interval, shift), "tick", clocks[number - 1])
        if number == scheduled_at:
            agenda.add("node", Grid(STREAM, interval, shift), "tick", clock)
        fired += [(number, clock)] * len(firings(agenda, STREAM, clock))
        if number >= scheduled_at:
            if anchor is None and shift is None:
                anchor, last = clock, None
            start = clock if last is None else last + 1
            if number > scheduled_at and last is None and shift is not None:
                start = clocks[scheduled_at]
            grid = anchor if shift is None else shift
            if any((moment - grid) % interval == 0 for moment in range(start, clock + 1)):
                expected.append((number, clock))
                last = clock
    assert fired == expected


def test_wall_clock_without_a_shift_counts_from_the_creation_of_the_schedule():
    agenda, fired = Agenda(MemoryStore()), []
    agenda.add("node", Grid(WALL, 10, None), "tick", 1003)
    for clock in (1008, 1013, 1022, 1023, 1058, 1062, 1063):
        fired += [clock] * len(firings(agenda, WALL, clock))
    assert fired == [1013, 1023, 1058, 1063]
    assert agenda.next_due_ms(WALL) == 1073


def test_wall_clock_with_a_shift_skips_due_times_while_the_task_was_down_and_repeats_none():
    state = MemoryStore()
    agenda = Agenda(state)
    agenda.add("node", Grid(WALL, 10, 0), "tick", 20)
    assert firings(agenda, WALL, 20) == ["tick"]
    agenda = Agenda(state)
    agenda.add("node", Grid(WALL, 10, 0), "tick", 20)
    assert firings(agenda, WALL, 20) == []
    agenda = Agenda(state)
    agenda.add("node", Grid(WALL, 10, 0), "tick", 55)
    assert (firings(agenda, WALL, 59), firings(agenda, WALL, 60)) == ([], ["tick"])


def test_schedules_fire_by_due_time_then_by_number_and_new_due_ones_follow():
    agenda, fired = Agenda(MemoryStore()), []

    def punctuate(schedule):
        fired.append(schedule.callback)
        if schedule.callback == "late":
            agenda.add("node", Grid(STREAM, 100, None), "added while firing", 50)

    agenda.add("node", Grid(STREAM, 100, 42), "late", 40)
    agenda.add("node", Grid(STREAM, 100, 41), "early", 40)
    agenda.add("node", Grid(STREAM, 100, 41), "early, younger", 40)
    agenda.fire(STREAM, 50, punctuate)
    assert fired == ["early", "early, younger", "late", "added while firing"]


def test_cancelled_schedule_does_not_fire_and_an_equal_one_continues_after_it():
    state = MemoryStore()
    agenda = Agenda(state)
    schedule = agenda.add("node", Grid(STREAM, 10, 0), "tick", 30)
    assert firings(agenda, STREAM, 30) == ["tick"]
    schedule.cancel()
    schedule.cancel()
    assert (firings(agenda, STREAM, 95), agenda.next_due_ms(STREAM)) == ([], None)
    again = Agenda(state)
    again.add("node", Grid(STREAM, 10, 0), "tick", 30)
    assert (firings(again, STREAM, 30), firings(again, STREAM, 40)) == ([], ["tick"])


def test_shift_with_unknown_stream_time_waits_for_the_grid_after_the_first_record():
    agenda = Agenda(MemoryStore())
    agenda.add("node", Grid(STREAM, 10, 0), "tick", UNKNOWN)
    assert [firings(agenda, STREAM, clock) for clock in (26, 29, 30, 57, 60)] == [[], [], ["tick"], ["tick"], ["tick"]]
    assert agenda.next_due_ms(STREAM) == 70 < NEVER


HOUR = 3_600_000


@pytest.mark.parametrize("shift", [None, 0, 3], ids=["no shift", "shift 0", "shift 3"])
@pytest.mark.parametrize("restart", [False, True], ids=["at once", "after a restart"])
def test_a_wall_clock_that_was_an_hour_ahead_once_does_not_silence_a_schedule(shift, restart, caplog):
    state = MemoryStore()
    agenda, fired = Agenda(state), []
    agenda.add("node", Grid(WALL, 10, shift), "tick", 1000)
    assert firings(agenda, WALL, 1000 + HOUR) == ["tick"]
    if restart:
        agenda = Agenda(state)
        agenda.add("node", Grid(WALL, 10, shift), "tick", 1004)
    for clock in range(1004, 1040):
        fired += [clock] * len(firings(agenda, WALL, clock))
    assert fired == {None: [1014, 1024, 1034], 0: [1010, 1020, 1030], 3: [1013, 1023, 1033]}[shift]
    expected = not (restart and shift is None)  # such a schedule begins anew in any case
    assert ("node: the wall clock went back" in caplog.text) is expected


@pytest.mark.parametrize("shift", [None, 0])
def test_a_wall_clock_that_goes_back_less_than_the_interval_repeats_nothing(shift, caplog):
    agenda = Agenda(MemoryStore())
    agenda.add("node", Grid(WALL, 10, shift), "tick", 1000)
    assert firings(agenda, WALL, 1010) == ["tick"]
    assert [clock for clock in (1001, 1005, 1011, 1019, 1020) if firings(agenda, WALL, clock)] == [1020]
    assert caplog.text == ""


def test_after_the_wall_clock_went_back_the_next_due_time_is_within_the_interval():
    agenda = Agenda(MemoryStore())
    agenda.add("node", Grid(WALL, 10, 0), "tick", 1000)
    firings(agenda, WALL, HOUR)
    firings(agenda, WALL, 1001)
    assert agenda.next_due_ms(WALL) == 1010
