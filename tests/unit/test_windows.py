"""Windows and windowed keys as values."""

import pickle
from datetime import UTC, datetime

import pytest

import headrace as hr


def test_windowed_key_prints_as_in_kafka():
    windowed = hr.Windowed("alice", hr.Window(0, 10))
    assert (str(windowed), repr(windowed)) == (
        "[alice@0/10]",
        "Windowed(key='alice', window=Window(start_ms=0, end_ms=10))",
    )


def test_windowed_keys_sort_by_key_then_start_then_end():
    ordered = [
        hr.Windowed(key, hr.Window(start, end))
        for key, start, end in [("a", 5, 9), ("b", 0, 1), ("b", 0, 2), ("b", 1, 1)]
    ]
    assert sorted([ordered[2], ordered[0], ordered[3], ordered[1]]) == ordered


def test_windowed_keys_are_equal_by_content_and_can_be_dict_keys():
    assert {hr.Windowed("a", hr.Window(0, 1)): 1}[hr.Windowed("a", hr.Window(0, 1))] == 1
    assert hr.Windowed("a", hr.Window(0, 1)) != hr.Windowed("a", hr.Window(0, 2))


def test_windows_are_immutable():
    with pytest.raises(AttributeError):
        hr.Window(0, 1).start_ms = 5


def test_windowed_keys_are_picklable():
    windowed = hr.Windowed("a", hr.Window(0, 1))
    assert pickle.loads(pickle.dumps(windowed)) == windowed


@pytest.mark.parametrize(("start_ms", "end_ms"), [(-1, 5), (5, 4)])
def test_impossible_windows_are_refused(start_ms, end_ms):
    with pytest.raises(hr.StreamsError, match=f"There is no window from {start_ms} to {end_ms}"):
        hr.Window(start_ms, end_ms)


def test_start_and_end_of_a_window_are_also_times_in_utc():
    window = hr.Window(0, 86_400_000)
    assert window.start_time == datetime(1970, 1, 1, tzinfo=UTC)
    assert window.end_time == datetime(1970, 1, 2, tzinfo=UTC)
    assert hr.Window(5, (1 << 63) - 1).end_time == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other", "excluded", "included"),
    [
        ((0, 10), (10, 20), False, True),
        ((0, 10), (9, 20), True, True),
        ((0, 10), (2, 3), True, True),
        ((0, 10), (11, 20), False, False),
        ((5, 5), (5, 5), False, True),
    ],
)
def test_windows_overlap_if_they_share_a_moment(one, other, excluded, included):
    one, other = hr.Window(*one), hr.Window(*other)
    assert one.overlaps(other) is other.overlaps(one) is excluded
    assert one.overlaps(other, end_included=True) is other.overlaps(one, end_included=True) is included
