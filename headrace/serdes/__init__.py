"""Serdes for common types, in Kafka's own byte formats."""

from headrace.serdes.base import Serde
from headrace.serdes.json_ import Json
from headrace.serdes.primitives import Bool, Bytes, Double, Float, Int, Long, Short, String, Uuid
from headrace.serdes.schemas.avro import Avro
from headrace.serdes.schemas.json_schema import JsonSchema
from headrace.serdes.schemas.protobuf import Protobuf
from headrace.serdes.schemas.registry import Registry
from headrace.serdes.wrapping.list_ import List
from headrace.serdes.wrapping.windowed import SessionWindowedKey, WindowedKey

__all__ = [
    "Avro",
    "Bool",
    "Bytes",
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
    "WindowedKey",
]
