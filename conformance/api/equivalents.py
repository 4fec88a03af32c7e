"""What stands for a class, method or setting of Kafka Streams: by its name in snake_case, or by `equivalents.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import headrace as hr
from conformance.api.listing import Listing
from headrace import testing

_FILE = Path(__file__).parent / "equivalents.toml"
_SETTINGS = "settings"
_UNKNOWN = object()
_NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\(([a-z_]+)=\.\.\.\))?`")
NOT_NEEDED, MISSING = "not needed: ", "missing: "


class Equivalent(NamedTuple):
    """What stands for one name of Kafka Streams: `text` is `None` if `equivalents.toml` lacks an answer."""

    owner: str
    name: str
    python: str | None
    text: str | None

    @property
    def kind(self) -> str:
        """How a page counts it."""
        if self.text is None or self.text.startswith(MISSING):
            return "missing"
        return "not needed" if self.text.startswith(NOT_NEEDED) else "present"


def equivalents(listing: Listing) -> Iterator[Equivalent]:
    """What stands for every public method and setting; for a class without any, the class itself."""
    for owner, names in listing.classes.items():
        given = _answers(owner)
        for name in names or [""]:
            yield Equivalent(owner, name, given.get("python"), _answer(given, name))
    given = _answers(_SETTINGS)
    known = {field.name for field in fields(hr.StreamsConfig)}
    for setting in listing.settings:
        own = setting.replace(".", "_").removesuffix("_ms")
        text = given.get(setting) or (f"`{own}`" if own in known else None)
        yield Equivalent(_SETTINGS, setting, "StreamsConfig", text)


def unused_answers(listing: Listing) -> list[str]:
    """Entries of `equivalents.toml` for classes or methods that Kafka Streams does not have."""
    unused = []
    for pattern, given in _tables().items():
        names = {name for owner, found in listing.classes.items() if fnmatchcase(owner, pattern) for name in found}
        if pattern == _SETTINGS:
            names = set(listing.settings)
        elif not any(fnmatchcase(owner, pattern) for owner in listing.classes):
            unused.append(pattern)
        unused += [f"{pattern}.{name}" for name in given if name not in ("python", "all") and name not in names]
    return unused


def unknown_names(equivalent: Equivalent) -> list[str]:
    """The Python names in an answer that do not exist."""
    return [
        name
        for name, argument in _NAME.findall(equivalent.text or "")
        if not _exists(name, equivalent.python) or (argument and not _has_setting(argument))
    ]


def snake_case(name: str) -> str:
    """The Python spelling of a Java name.

    Example:
        >>> snake_case("flatMapValues"), snake_case("STREAM_TIME"), snake_case("sizeMs")
        ('flat_map_values', 'STREAM_TIME', 'size_ms')
    """
    return name if name.isupper() else re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _answer(given: dict[str, str], name: str) -> str | None:
    own = snake_case(name)
    if name in given and name != "python":
        return given[name]
    if name and "python" in given and _has(_resolve(given["python"]), own):
        return f"`{own}`"
    if "all" in given:
        return given["all"]
    return f"`{given['python'].split('.')[-1]}`" if "python" in given and not name else None


def _answers(owner: str) -> dict[str, str]:
    """The first table that fits a class, the ones without a `*` first."""
    tables = _tables()
    if owner in tables:
        return tables[owner]
    return next((given for pattern, given in tables.items() if fnmatchcase(owner, pattern)), {})


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(_FILE.read_text())


def _exists(name: str, python: str | None) -> bool:
    names = [name] if python is None else [name, f"{python}.{name}"]
    return any(_resolve(one) is not _UNKNOWN for one in names)


def _has_setting(name: str) -> bool:
    return name in {field.name for field in fields(hr.StreamsConfig)}


def _resolve(name: str) -> Any:
    found: Any = hr
    for part in name.split("."):
        if found is hr and part == "testing":
            found = testing
            continue
        if not _has(found, part):
            return _UNKNOWN
        # A field without a default is no attribute of its class.
        found = getattr(found, part, found)
    return found


def _has(owner: Any, name: str) -> bool:
    is_field = isinstance(owner, type) and any(name in vars(kind).get("__annotations__", {}) for kind in owner.__mro__)
    return is_field or hasattr(owner, name)
