import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._state.bytes.composite import (
    MAX_TIME,
    descending_time_at,
    descending_time_bytes,
    end_of_key,
    escape_key,
    time_at,
    time_bytes,
    unescape_key,
)
from headrace.errors import StateError

KEYS = st.lists(st.sampled_from([b"\x00", b"\x01", b"a", b"\xfe", b"\xff"]), max_size=4).map(b"".join)
TIMES = st.integers(0, 3) | st.integers(0, MAX_TIME)


@given(first=st.tuples(KEYS, TIMES), second=st.tuples(KEYS, TIMES))
def test_composite_keys_order_as_their_parts(first, second):
    encoded = [escape_key(key) + time_bytes(time_ms) for key, time_ms in (first, second)]
    assert (encoded[0] < encoded[1], encoded[0] == encoded[1]) == (first < second, first == second)


@given(key=KEYS, other=KEYS, time_ms=TIMES)
def test_the_range_of_a_key_holds_only_entries_of_that_key(key, other, time_ms):
    place = escape_key(other) + time_bytes(time_ms)
    assert (escape_key(key) <= place < end_of_key(escape_key(key))) == (key == other)


@given(key=KEYS, time_ms=TIMES)
def test_parts_of_a_composite_key_are_decoded(key, time_ms):
    assert unescape_key(escape_key(key)) == key
    assert time_at(time_bytes(time_ms), 0) == time_ms
    assert descending_time_at(descending_time_bytes(time_ms), 0) == time_ms


@given(first=TIMES, second=TIMES)
def test_descending_times_order_the_latest_first(first, second):
    assert (descending_time_bytes(first) < descending_time_bytes(second)) == (first > second)


@pytest.mark.parametrize("time_ms", [-1, 1.5, "1", 1 << 64])
def test_invalid_time_is_refused(time_ms):
    with pytest.raises(StateError, match="is not a time: expected a whole number of milliseconds"):
        time_bytes(time_ms)
