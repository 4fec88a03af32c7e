"""`Headers`: the headers of a record, with methods to read and change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from headrace.model.record import check_headers, header_pairs


class Headers(tuple[tuple[str, bytes | None], ...]):
    """The headers of a record, in order: a tuple of `(name, value)` pairs. A name may occur several times.

    `Headers` equal a tuple with the same pairs, and can be used wherever headers are expected: in
    `Record(..., headers=...)`, `record.with_headers(...)` or `pipe(..., headers=...)`. They are immutable: `add` and
    `remove` return a copy.

    Raises:
        StreamsError: for a header that is not a pair of text and bytes or `None`.

    Example:
        >>> import headrace as hr
        >>> record = hr.Record("k", "v", 5, (("trace", b"7"), ("user", None)))
        >>> headers = hr.Headers(record.headers).add("trace", b"8").remove("user")
        >>> headers.last_header("trace"), headers.values("trace"), headers.last_header("user")
        (b'8', [b'7', b'8'], None)
        >>> record.with_headers(headers).headers == (("trace", b"7"), ("trace", b"8"))
        True
    """

    __slots__ = ()

    def __new__(cls, pairs: Iterable[tuple[str, bytes | None]] = ()) -> Self:
        """Creates headers from pairs, e.g. those of `record.headers`."""
        checked = header_pairs(pairs)
        check_headers(checked, "Malformed headers: headers are")
        return super().__new__(cls, checked)

    def add(self, name: str, value: bytes | None) -> Self:
        """Returns a copy with one more header at the end."""
        return type(self)((*self, (name, value)))

    def remove(self, name: str) -> Self:
        """Returns a copy without any header of that name."""
        return type(self)(pair for pair in self if pair[0] != name)

    def last_header(self, name: str) -> bytes | None:
        """Returns the value of the last header of that name, or `None` if there is no such header."""
        return next((value for known, value in reversed(self) if known == name), None)

    def values(self, name: str) -> list[bytes | None]:
        """Returns the values of all headers of that name, in order."""
        return [value for known, value in self if known == name]
