"""A serde from two functions, and the serde of nothing."""

from __future__ import annotations

import pickle

import pytest

from headrace import SerdeError, TopologyError, serdes


def shift(value):
    return bytes([value + 1])


def shift_back(data):
    return data[0] - 1


def test_a_serde_from_functions_calls_them_but_not_for_none():
    serde = serdes.serde_from(shift, shift_back)
    assert (serde.serialize(7), serde.deserialize(b"\x08")) == (b"\x08", 7)
    assert (serde.serialize(None), serde.deserialize(None)) == (None, None)
    assert serde.deserialize_many([b"\x01", None]) == [0, None]
    assert repr(serde) == "serde_from(shift, shift_back)"
    assert serde == serdes.serde_from(shift, shift_back) == pickle.loads(pickle.dumps(serde))
    assert serde != serdes.serde_from(shift, len)
    assert len({serde, serdes.serde_from(shift, shift_back)}) == 1


def test_errors_of_the_functions_name_them_and_the_value():
    serde = serdes.serde_from(shift, shift_back)
    with pytest.raises(SerdeError, match=r"serde_from\(shift, shift_back\) cannot serialize 'a' of type str"):
        serde.serialize("a")
    with pytest.raises(SerdeError, match="cannot deserialize 0 bytes"):
        serde.deserialize(b"")
    with pytest.raises(SerdeError, match="the serializer returned str; it must return bytes"):
        serdes.serde_from(str, shift_back).serialize(1)


@pytest.mark.parametrize("functions", [("x", shift_back), (shift, None), (shift, lambda: 1), (lambda a, b: 1, shift)])
def test_what_is_no_function_of_one_argument_is_refused(functions):
    with pytest.raises(TopologyError, match=r"serde_from\(\)"):
        serdes.serde_from(*functions)


def test_void_is_only_for_nulls():
    serde = serdes.Void()
    assert (serde.serialize(None), serde.deserialize(None)) == (None, None)
    with pytest.raises(SerdeError, match=r"Void\(\) is for keys and values that are always None"):
        serde.serialize(0)
    with pytest.raises(SerdeError, match=r"Void\(\) is for keys and values that are always null"):
        serde.deserialize(b"")
