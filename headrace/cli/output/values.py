"""Converts keys and values: from what a user types, to what a user reads, from and to JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from headrace import serdes
from headrace.cli.errors import CommandError
from headrace.errors import known_names, nearest
from headrace.model.record import Change
from headrace.model.time.windows import Windowed
from headrace.serdes import Serde
from headrace.serdes.models import to_json_types
from headrace.serdes.wrapping.wrapping import Wrapping

_TRUTH = {"true": True, "false": False}

_FROM_TEXT: dict[type[Serde[Any]], Callable[[str], Any]] = {
    serdes.Bytes: str.encode,
    serdes.Short: int,
    serdes.Int: int,
    serdes.Long: int,
    serdes.Float: float,
    serdes.Double: float,
    serdes.Bool: lambda text: _TRUTH[text.lower()],
    serdes.Uuid: UUID,
    serdes.Json: json.loads,
}


def _float_from_json(value: Any) -> Any:
    return float(value) if type(value) is int else value


_FROM_JSON: dict[type[Serde[Any]], Callable[[Any], Any]] = {
    serdes.Bytes: base64.b64decode,
    serdes.Uuid: UUID,
    serdes.Float: _float_from_json,
    serdes.Double: _float_from_json,
}


def serde_named(text: str) -> Serde[Any]:
    """Returns the serde with a name, in upper or lower case.

    `List:Long` is for lists of numbers, `ChangeEvent:Json` for changes of JSON values. `WindowedKey:60000` is for keys
    in windows of 60,000 ms, `SessionWindowedKey` for keys in session windows; the keys are text.
    """
    return _serde(text, repr(text))


def _serde(text: str, shown: str) -> Serde[Any]:
    known = {listed.lower(): listed for listed in serdes.__all__ if listed not in ("Serde", "Registry", "serde_from")}
    name, _, argument = text.partition(":")
    class_name = known.get(name.lower())
    if class_name == "WindowedKey":
        return _windowed_key(shown, argument)
    if class_name == "SessionWindowedKey" and not argument:
        return serdes.SessionWindowedKey(serdes.String())
    if class_name in ("List", "ChangeEvent"):
        if not argument:
            message = f"Serde {shown} needs the serde of its values, e.g. {class_name}:String."
            raise CommandError(message)
        inner = _serde(argument, f"{argument!r} in {text!r}")
        return (serdes.List if class_name == "List" else serdes.ChangeEvent)(inner)
    if class_name is None or argument:
        message = f"There is no serde {shown}.{nearest(name, known.values())} Known: {known_names(known.values())}."
        raise CommandError(message)
    try:
        serde: Serde[Any] = getattr(serdes, class_name)()
    except TypeError as error:
        message = f"Serde {class_name!r} needs arguments, so it can only be used from Python."
        raise CommandError(message) from error
    return serde


def _windowed_key(shown: str, size: str) -> Serde[Any]:
    if not size.isdigit():
        message = f"Serde {shown} needs the size of the windows in milliseconds, e.g. WindowedKey:60000."
        raise CommandError(message)
    return serdes.WindowedKey(serdes.String(), int(size))


def pairs(option: str, settings: list[str] | None, example: str = "security.protocol=SSL") -> dict[str, str]:
    """Parses the values of an option that has the form KEY=VALUE and may be repeated."""
    for setting in settings or ():
        if "=" not in setting:
            message = f"{option} {setting!r} has no '='; write it as {option} {example}"
            raise CommandError(message)
    return dict(setting.split("=", 1) for setting in settings or ())


def from_text(text: str, serde: Serde[Any]) -> Any:
    """Converts text that a user typed to the serde's type. For a serde around another one, the text is JSON.

    Raises:
        CommandError: if it cannot be converted.
    """
    is_wrapping = isinstance(serde, Wrapping)
    try:
        value = (json.loads if is_wrapping else _FROM_TEXT.get(type(serde), str))(text)
    except (ValueError, KeyError) as error:
        hint = f" Text goes in quotes, {json.dumps(text)}, or use String." if isinstance(serde, serdes.Json) else ""
        hint = " Write it as JSON, as `headrace topics consume --json` shows it." if is_wrapping else hint
        message = f"{text!r} is not a value of serde {type(serde).__name__}.{hint}"
        raise CommandError(message) from error
    return from_json(value, serde) if is_wrapping else value


def from_json(value: Any, serde: Serde[Any]) -> Any:
    """Converts a value of a JSON line to the type that the serde writes. In JSON lines, bytes are text in base64.

    Raises:
        CommandError: if it cannot be converted.
    """
    if value is None:
        return None
    try:
        if isinstance(serde, serdes.List):
            return [from_json(entry, serde.inner) for entry in msgspec.convert(value, list[Any])]
        if isinstance(serde, serdes.ChangeEvent):
            change = msgspec.convert(value, Change)
            new, old = from_json(change.new, serde.inner), from_json(change.old, serde.inner)
            return Change(new, old, change.is_latest)
        if isinstance(serde, Wrapping):
            windowed = msgspec.convert(value, Windowed)
            return Windowed(from_json(windowed.key, serde.inner), windowed.window)
        return _FROM_JSON.get(type(serde), _unchanged)(value)
    except (TypeError, ValueError, AttributeError, OverflowError, msgspec.ValidationError) as error:
        message = f"{value!r} is not a value of serde {type(serde).__name__}: {error}"
        raise CommandError(message) from error


def _unchanged(value: Any) -> Any:
    return value


def format_value(value: Any) -> str:
    """Formats a key or value for people: text as it is, structures as JSON, bytes as hex."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return as_json(value)


def as_json(value: Any) -> str:
    """Formats a key or value as JSON, bytes as base64."""
    return json.dumps(value, ensure_ascii=False, default=_to_json_type)


def format_time(timestamp_ms: int) -> str:
    """Formats a timestamp as UTC, to the millisecond."""
    try:
        at = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (ValueError, OverflowError):
        return f"{timestamp_ms} ms"
    return f"{at:%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03d}"


def _to_json_type(value: Any) -> Any:
    """Converts what `json` cannot write: bytes to base64, typed values as the `Json` serde writes them."""
    try:
        return msgspec.to_builtins(value, enc_hook=to_json_types)
    except Exception:  # of a type that only its own serde knows
        return str(value)
