"""Ready-made serdes, in Kafka's own byte formats."""

from headrace.serdes.avro import Avro
from headrace.serdes.base import Serde
from headrace.serdes.change import Change
from headrace.serdes.json_ import Json
from headrace.serdes.json_schema import JsonSchema
from headrace.serdes.list_ import List
from headrace.serdes.primitives import Bool, Bytes, Double, Float, Int, Long, Short, String, Uuid
from headrace.serdes.protobuf import Protobuf
from headrace.serdes.registry import Registry
from headrace.serdes.windowed import SessionWindowed, Windowed

__all__ = [
    "Avro",
    "Bool",
    "Bytes",
    "Change",
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
    "SessionWindowed",
    "Short",
    "String",
    "Uuid",
    "Windowed",
]
