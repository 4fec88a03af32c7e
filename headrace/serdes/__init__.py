"""Serdes for common types, in Kafka's own byte formats."""

from typing import TYPE_CHECKING

from headrace._suggestions.attributes import module_lookup
from headrace.serdes.base import Serde
from headrace.serdes.functions import Void, serde_from
from headrace.serdes.json_ import Json
from headrace.serdes.primitives import Bool, Bytes, Double, Float, Int, Long, Short, String, Uuid
from headrace.serdes.schemas.avro import Avro
from headrace.serdes.schemas.json_schema import JsonSchema
from headrace.serdes.schemas.protobuf import Protobuf
from headrace.serdes.schemas.registry import Registry
from headrace.serdes.wrapping.change import ChangeEvent
from headrace.serdes.wrapping.list_ import List
from headrace.serdes.wrapping.windowed import SessionWindowedKey, WindowedKey

__all__ = [
    "Avro",
    "Bool",
    "Bytes",
    "ChangeEvent",
    "Double",
    "Float",
    "Int",
    "Json",
    "JsonSchema",
    "List",
    "Long",
    "Protobuf",
    "Registry",
    "Serde",
    "SessionWindowedKey",
    "Short",
    "String",
    "Uuid",
    "Void",
    "WindowedKey",
    "serde_from",
]

if not TYPE_CHECKING:  # type checkers must still refuse unknown names
    __getattr__ = module_lookup(__name__, __all__)
