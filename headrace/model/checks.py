"""Checks timestamps and headers of records before they are written to a topic."""

from __future__ import annotations

from headrace.errors import StreamsError
from headrace.model.record import Headers, check_headers, check_timestamp, header_pairs
from headrace.model.time.end_of_time import END_OF_TIME_MS


def checked_timestamp(timestamp_ms: object, subject: str) -> int:
    """Returns a timestamp as an `int` if a topic can store it: a whole number of 64 bits, which may be negative.

    Raises:
        StreamsError: for anything else; the message begins with `subject`.

    Example:
        >>> checked_timestamp(12, "Topic 'in'")
        12
        >>> checked_timestamp(2**63, "Topic 'in'")
        Traceback (most recent call last):
        headrace.errors.StreamsError: Topic 'in': timestamp_ms is 9223372036854775808; the highest is ...
    """
    check_timestamp(timestamp_ms, f"{subject}: timestamp_ms is")
    assert isinstance(timestamp_ms, int) or hasattr(timestamp_ms, "__int__")
    number = int(timestamp_ms)
    if not -END_OF_TIME_MS - 1 <= number <= END_OF_TIME_MS:
        message = (
            f"{subject}: timestamp_ms is {number}; the highest is {END_OF_TIME_MS}, because topics store timestamps in "
            "64 bits. A timestamp is in milliseconds since the epoch."
        )
        raise StreamsError(message)
    return number


def checked_headers(headers: object, subject: str) -> Headers:
    """Returns headers as a tuple of pairs of text and bytes or `None`.

    Raises:
        StreamsError: for anything else; the message begins with `subject`.

    Example:
        >>> checked_headers([("trace", b"1")], "Topic 'in'")
        (('trace', b'1'),)
        >>> checked_headers({"trace": b"1"}, "Topic 'in'")
        Traceback (most recent call last):
        headrace.errors.StreamsError: Topic 'in': headers are {'trace': b'1'}; headers are a tuple of pairs ...
    """
    pairs: Headers = header_pairs(headers)
    check_headers(pairs, f"{subject}: headers are")
    return pairs
