"""Loads, parses and names Avro schemas, and refuses values that fastavro would silently write as something else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from headrace.errors import SerdeError
from headrace.serdes.schemas.optional import import_optional

AvroSchema: TypeAlias = str | Mapping[str, Any] | list[Any]
Check: TypeAlias = Callable[[Any, str], None]

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
# Attributes that do not change how bytes are read.
_WITHOUT_EFFECT = ("doc", "aliases", "default", "order")


def load(schema: AvroSchema) -> Any:
    """Checks a schema and returns it as parsed JSON, without the attributes that fastavro adds.

    `schema` is JSON text, parsed JSON, or the bare name of a primitive type, such as `string`. The names of fastavro's
    attributes begin with `__`.

    Raises:
        SerdeError: if `schema` is not an Avro schema.
    """
    try:
        data = json.loads(schema) if isinstance(schema, str) and schema.strip()[:1] in ("{", "[", '"') else schema
        data = without(data, lambda name: name.startswith("__"))
        parse(data, {})
    except SerdeError:
        raise
    except Exception as error:
        message = f"Avro: this is not an Avro schema: {type(error).__name__}: {error}"
        raise SerdeError(message) from error
    return data


def parse(schema: Any, named: dict[str, Any]) -> Any:
    """Parses a schema with fastavro.

    The schema may use the types in `named`, which has types by their full names. The types that the schema defines are
    added to `named`.
    """
    return import_optional("fastavro", extra="avro", user="Avro").parse_schema(schema, named_schemas=named)


def name_of(schema: Any) -> str | None:
    """The full name of a parsed record, enum or fixed type; `None` for other types, which have no name."""
    return schema.get("name") if isinstance(schema, dict) else None


def title_of(schema: Any) -> str:
    """The name by which messages call a parsed schema, e.g. `union` for any union."""
    if isinstance(schema, list):
        return "union"
    return name_of(schema) or (title_of(schema["type"]) if isinstance(schema, dict) else str(schema))


def fingerprint(schema: Any) -> str:
    """A hash that differs between schemas whose bytes are read differently, logical types included."""
    text = json.dumps(without(schema, lambda name: name in _WITHOUT_EFFECT or name.startswith("__")), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def without(schema: Any, is_left_out: Callable[[str], bool]) -> Any:
    """Returns a copy of a schema from which attributes are removed, in nested types too.

    `is_left_out` gets the name of an attribute, and returns whether to remove it.
    """
    if isinstance(schema, Mapping):
        return {name: without(part, is_left_out) for name, part in schema.items() if not is_left_out(name)}
    return [without(part, is_left_out) for part in schema] if isinstance(schema, list | tuple) else schema


class ValueChecks:
    """Creates functions that refuse what fastavro would write as something else, e.g. 1.5 as 1, or a text as true.

    Unions need no check, because fastavro checks their values to choose a branch. Logical types are not checked.
    """

    def __init__(self) -> None:
        self._named: dict[str, Check] = {}

    def of(self, schema: Any) -> Check | None:
        """A function that checks values of a parsed schema; `None` if there is nothing to check."""
        if isinstance(schema, list) or (isinstance(schema, dict) and "logicalType" in schema):
            return None
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "int" | "long":
                return _check_int if kind == "int" else _check_long
            case "boolean":
                return _check_boolean
            case "record" | "error":
                return self._record(schema)
            case "array":
                return _entries(self.of(schema["items"]), (list, tuple), enumerate, "an array")
            case "map":
                return _entries(self.of(schema["values"]), dict, dict.items, "a map")
        return self._named.get(kind) if isinstance(kind, str) else self.of(kind)

    def _record(self, schema: dict[str, Any]) -> Check:
        fields: list[tuple[str, Check]] = []
        wanted = f"a record, {schema['name']}"

        def check(value: Any, at: str) -> None:
            if not isinstance(value, dict):
                _refuse(value, at, wanted)
            for name, check_field in fields:
                if name in value:
                    check_field(value[name], f"{at}.{name}")

        self._named[schema["name"]] = check
        checks = ((field["name"], self.of(field["type"])) for field in schema["fields"])
        fields += [(name, check_field) for name, check_field in checks if check_field is not None]
        return check


def _entries(check: Check | None, kind: Any, entries: Callable[[Any], Iterable[tuple[Any, Any]]], wanted: str) -> Check:
    def check_entries(value: Any, at: str) -> None:
        if not isinstance(value, kind):
            _refuse(value, at, wanted)
        if check is not None:
            for index, entry in entries(value):
                check(entry, f"{at}[{index!r}]")

    return check_entries


def _check_int(value: Any, at: str) -> None:
    if type(value) is not int or not _INT_MIN <= value <= _INT_MAX:
        _refuse(value, at, "an int, a whole number of 32 bits")


def _check_long(value: Any, at: str) -> None:
    if type(value) is not int:
        _refuse(value, at, "a long, a whole number")


def _check_boolean(value: Any, at: str) -> None:
    if type(value) is not bool:
        _refuse(value, at, "a boolean")


def _refuse(value: Any, at: str, wanted: str) -> None:
    message = f"{at.removeprefix('.') or 'the value'} is {value!r}; the schema wants {wanted}"
    raise ValueError(message)
