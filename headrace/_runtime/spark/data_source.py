"""The topics as a Spark data source. Ingesting happens while reading: no extra hop through Spark."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, DataSourceStreamReader
from pyspark.sql.types import StructType

from headrace._runtime.spark import frames, program
from headrace._runtime.spark.kafka_writer import KafkaWriter
from headrace._runtime.spark.topics_reader import TopicsReader
from headrace._runtime.spark.topics_writer import EmbeddedWriter


def data_source(name: str, packed: bytes, max_records: int) -> type[DataSource]:
    """A data source class of its own for one query; Spark pickles it with the program inside."""

    class Topics(_Topics):
        source_name = name
        program = packed
        max_records_per_batch = max_records

    return Topics


class _Topics(DataSource):
    source_name: str
    program: bytes
    max_records_per_batch: int

    @classmethod
    def name(cls) -> str:
        return cls.source_name

    def schema(self) -> str:
        return frames.DDL

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        return TopicsReader(self.program, self.max_records_per_batch)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: ARG002, N802
        on_kafka = program.load(self.program).broker is not None
        return KafkaWriter(self.program) if on_kafka else EmbeddedWriter(self.program)
