"""Ready-made serdes, in Kafka's own byte formats."""

from headrace.serdes.base import Serde
from headrace.serdes.change import Change
from headrace.serdes.json_ import Json
from headrace.serdes.list_ import List
from headrace.serdes.primitives import Bool, Bytes, Double, Float, Int, Long, Short, String, Uuid
from headrace.serdes.windowed import SessionWindowed, Windowed

__all__ = [
    "Bool",
    "Bytes",
    "Change",
    "Double",
    "Float",
    "Int",
    "Json",
    "List",
    "Long",
    "Serde",
    "SessionWindowed",
    "Short",
    "String",
    "Uuid",
    "Windowed",
]
