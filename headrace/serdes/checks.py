"""Checks that an argument is a serde, and explains what to write instead of a class, a name or a type."""

from __future__ import annotations

import uuid
from typing import Any, Final

from headrace.errors import StreamsError, TopologyError
from headrace.serdes.base import Serde

# The serde that a user probably means by a type or a name.
_MEANT: Final[dict[object, str]] = {
    str: "String()",
    bytes: "Bytes()",
    int: "Long()",
    float: "Double()",
    bool: "Bool()",
    uuid.UUID: "Uuid()",
    dict: "Json()",
    list: "Json()",
    object: "Json()",
    "str": "String()",
    "text": "String()",
    "string": "String()",
    "utf8": "String()",
    "utf-8": "String()",
    "bytes": "Bytes()",
    "bytearray": "Bytes()",
    "int": "Int()",
    "integer": "Int()",
    "long": "Long()",
    "short": "Short()",
    "float": "Float()",
    "double": "Double()",
    "bool": "Bool()",
    "boolean": "Bool()",
    "uuid": "Uuid()",
    "json": "Json()",
    "void": "Void()",
    "avro": "Avro(schema)",
    "protobuf": "Protobuf(Message)",
}


def checked_serde(
    serde: object, subject: str, option: str | None = None, error: type[StreamsError] = TopologyError
) -> None:
    """Raises an error if `serde` is not a serde. Its message begins with `subject` and says what to write instead.

    `option` is the name of a keyword argument: with it, the advice has the form `option=serdes.Long()`.
    """
    if isinstance(serde, Serde):
        return
    write = f"write {option}=" if option else "write "
    if isinstance(serde, type) and issubclass(serde, Serde):
        what = f"the class {serde.__name__}, not a serde"
        advice = f"{write}{_module_of(serde)}{serde.__name__}(){_arguments_of(serde)}"
    elif (meant := _meant(serde)) is not None:
        what = repr(serde) if isinstance(serde, str) else f"the type {_name_of(serde)}"
        advice = f"{write}serdes.{meant}"
    else:
        what = f"{serde!r} of type {type(serde).__name__}"
        advice = (
            "a serde is an object such as serdes.String() or serdes.Json(); for functions of your own, "
            f"{write}serdes.serde_from(serialize, deserialize)"
        )
    message = f"{subject} is {what}: {advice}."
    raise error(message)


def _meant(thing: Any) -> str | None:
    if isinstance(thing, str):
        return _MEANT.get(thing.strip().lower().removesuffix("serde").removesuffix("()"))
    if isinstance(thing, type):
        return _MEANT.get(thing, f"Json({thing.__qualname__})")
    return f"Json({_name_of(thing)})" if hasattr(thing, "__origin__") else None


def _name_of(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) and not hasattr(kind, "__origin__") else repr(kind)


def _module_of(serde: type) -> str:
    return "serdes." if serde.__module__.startswith("headrace.serdes") else ""


def _arguments_of(serde: type) -> str:
    return " with its arguments" if serde.__name__ in ("Avro", "Protobuf", "JsonSchema", "WindowedKey") else ""
