"""`Headers`: a tuple of pairs with `add`, `remove` and `last_header`."""

from __future__ import annotations

import pickle

import pytest

import headrace as hr
from headrace.testing import TopologyTestDriver

PAIRS = (("a", b"1"), ("b", None), ("a", b"2"))


def test_headers_equal_and_hash_like_the_plain_tuple():
    headers = hr.Headers(PAIRS)
    assert headers == PAIRS
    assert hash(headers) == hash(PAIRS)
    assert hr.Record("k", "v", 1, headers) == hr.Record("k", "v", 1, PAIRS)
    assert pickle.loads(pickle.dumps(headers)) == headers
    assert isinstance(pickle.loads(pickle.dumps(headers)), hr.Headers)


def test_changes_return_copies():
    headers = hr.Headers(PAIRS)
    assert headers.add("c", b"3") == (*PAIRS, ("c", b"3"))
    assert headers.remove("a") == (("b", None),)
    assert headers.remove("z") == PAIRS
    assert headers == PAIRS


def test_lookups_by_name():
    headers = hr.Headers(PAIRS)
    assert [headers.last_header(name) for name in "abz"] == [b"2", None, None]
    assert [headers.values(name) for name in "abz"] == [[b"1", b"2"], [None], []]
    assert hr.Headers() == ()


@pytest.mark.parametrize("pairs", [{"a": b"1"}, [("a", "1")], [(b"a", b"1")], [("a",)], ["ab"], [None]])
def test_malformed_headers_are_refused(pairs):
    with pytest.raises(hr.StreamsError, match="headers are a tuple of pairs of a name and bytes or None"):
        hr.Headers(pairs)


def test_headers_pass_through_a_topology():
    class Tagging(hr.Processor):
        def process(self, record):
            headers = hr.Headers(record.headers).remove("b").add("seen", b"yes")
            self.context.forward(record.with_headers(headers))

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Tagging).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 1, headers=hr.Headers(PAIRS))
        (record,) = driver.output_topic("out").read_all()
    assert record.headers == (("a", b"1"), ("a", b"2"), ("seen", b"yes"))
