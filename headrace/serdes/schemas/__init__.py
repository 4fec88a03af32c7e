"""Serdes with a schema: Avro, Protocol Buffers and JSON Schema, and the schema registry."""
