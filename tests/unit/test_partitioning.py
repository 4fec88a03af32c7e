"""Partitions of keys: Kafka's murmur2, for single keys and for columns."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._core.partitioning import murmur2, partition_for, partitions_for

KAFKA_VECTORS = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("data", "expected"), KAFKA_VECTORS)
def test_murmur2_equals_kafkas(data, expected):
    assert murmur2(data) == expected


@pytest.mark.parametrize(("data", "expected"), KAFKA_VECTORS)
def test_partition_drops_the_sign_bit_before_the_modulus(data, expected):
    assert partition_for(data, 7) == (expected & 0x7FFFFFFF) % 7


def test_column_with_few_and_with_many_keys_of_one_length_equals_the_scalar_form():
    keys = [f"user-{i}".encode() for i in range(2000)] + [b"", None, b"\xff" * 1000]
    expected = [-1 if key is None else partition_for(key, 12) for key in keys]
    assert partitions_for(keys, 12).tolist() == expected


def test_null_keys_have_no_partition():
    assert partitions_for([None, None], 3).tolist() == [-1, -1]


def test_empty_column_has_no_partitions():
    assert partitions_for([], 3).tolist() == []
    assert partitions_for(pa.array([], pa.binary()), 3).dtype == np.int32


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string()])
def test_sliced_columns_of_any_binary_type_equal_the_scalar_form(kind):
    keys = [f"key-{i % 7}" for i in range(100)]
    column = pa.array(keys, kind).slice(13, 50)
    assert partitions_for(column, 5).tolist() == [partition_for(key.encode(), 5) for key in keys[13:63]]


@given(
    keys=st.lists(st.none() | st.binary(max_size=9) | st.binary(min_size=60, max_size=70), max_size=60),
    repeat=st.integers(1, 15),
    partitions=st.integers(1, 50),
    start=st.integers(0, 20),
)
def test_columnar_form_equals_scalar_form(keys, repeat, partitions, start):
    keys = keys * repeat
    expected = [-1 if key is None else partition_for(key, partitions) for key in keys]
    assert partitions_for(keys, partitions).tolist() == expected
    assert partitions_for(pa.array(keys, pa.binary()).slice(start), partitions).tolist() == expected[start:]
