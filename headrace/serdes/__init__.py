"""Ready-made serdes, in Kafka's own byte formats."""

from headrace.serdes.base import Serde
from headrace.serdes.change import Change
from headrace.serdes.json_ import Json
from headrace.serdes.primitives import Bool, Bytes, Double, Float, Int, Long, Short, String, Uuid

__all__ = ["Bool", "Bytes", "Change", "Double", "Float", "Int", "Json", "Long", "Serde", "Short", "String", "Uuid"]
