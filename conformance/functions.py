"""The user functions of the catalogue: the same as in the recorder's `Functions.java`."""

from __future__ import annotations

from typing import Any


def show(value: Any) -> str:
    return "_" if value is None else str(value)


def is_long(key: Any, value: str | None) -> bool:  # noqa: ARG001
    return value is not None and len(value) > 1


def is_longer(key: Any, value: str | None) -> bool:  # noqa: ARG001
    return value is not None and len(value) > 2


def shout(value: str | None) -> str:
    return show(value) + "!"


def head(value: str | None) -> str | None:
    """The first letter, if there is one."""
    return value[0] if value else None


def letters(value: str | None) -> list[str]:
    return list(value or "")


def words(value: str | None) -> list[str]:
    return [] if value is None else value.split(" ")


def twice(value: str | None) -> list[str]:
    return [show(value), show(value) + "2"]


def group(value: str | None) -> str | None:
    """The part of "group:item" before the colon; `None` for "null..." or an empty group."""
    if value is None:
        return None
    before = value.split(":", 1)[0]
    return None if before.startswith("null") else before or None


def item(value: str) -> str:
    """The part of "group:item" after the colon; without a colon the whole value."""
    return value[value.find(":") + 1 :]


def concat(key: Any, value: str | None, aggregate: str) -> str:  # noqa: ARG001
    return aggregate + show(value)


def concat_or_delete(key: Any, value: str | None, aggregate: str) -> str | None:  # noqa: ARG001
    """Concatenates; "del" deletes the aggregate."""
    return None if value == "del" else aggregate + show(value)


def appended(aggregate: str | None, value: str | None) -> str:
    return show(aggregate) + show(value)


def merged(key: Any, left: str | None, right: str | None) -> str:  # noqa: ARG001
    return f"({show(left)}&{show(right)})"


def joined(left: Any, right: Any) -> str:
    return f"{show(left)}/{show(right)}"


def keyed(key: Any, left: Any, right: Any) -> str:
    return f"{show(key)}:{joined(left, right)}"


def plus(key: Any, value: str, aggregate: str) -> str:  # noqa: ARG001
    return f"{aggregate}+{value}"


def minus(key: Any, value: str, aggregate: str) -> str:  # noqa: ARG001
    return f"{aggregate}-{value}"


def plus_one(aggregate: str, value: str) -> str:
    return f"{aggregate}+{value}"


def minus_one(aggregate: str, value: str) -> str | None:
    """Subtracts; `None` if the aggregate is just the value."""
    return None if aggregate == value else f"{aggregate}-{value}"


def newer(aggregate: str, value: str) -> str:  # noqa: ARG001
    return value


def kept(aggregate: str, value: str) -> str:  # noqa: ARG001
    return aggregate


def with_member(key: Any, value: str, members: str) -> str:  # noqa: ARG001
    return ",".join(sorted(_members(members) | {value}))


def without_member(key: Any, value: str, members: str) -> str:  # noqa: ARG001
    return ",".join(sorted(_members(members) - {value}))


def _members(text: str) -> set[str]:
    return set(text.split(",")) if text else set()


def by_group(key: str, value: str) -> tuple[str | None, str]:  # noqa: ARG001
    return group(value), item(value)


def by_key(key: str, value: str) -> tuple[str, str]:
    return key, value


def under_a(key: str, value: str) -> tuple[str, str]:  # noqa: ARG001
    """Everything under one key, which may be that of a row."""
    return "a", value


def by_value(key: str, value: str) -> tuple[str, str]:  # noqa: ARG001
    return value, value


def by_group_or_nothing(key: str, value: str) -> tuple[str | None, str | None] | None:  # noqa: ARG001
    """As `by_group`, but `None` for "skip...", and a null value for an empty item."""
    return None if value.startswith("skip") else (group(value), item(value) or None)


def empty() -> str:
    return ""


def arrow() -> str:
    return ">"
