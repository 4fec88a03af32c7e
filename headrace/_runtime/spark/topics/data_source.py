"""The topics as a Spark data source. Ingesting happens while reading: no extra hop through Spark."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, DataSourceStreamReader
from pyspark.sql.types import StructType

from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.topics.reader import TopicsReader
from headrace._runtime.spark.topics.writer import TopicsWriter


def data_source(name: str, packed: bytes) -> type[DataSource]:
    """A data source class of its own for one query; Spark pickles it with the program inside."""

    class Topics(_Topics):
        source_name = name
        program = packed

    return Topics


class _Topics(DataSource):
    source_name: str
    program: bytes

    @classmethod
    def name(cls) -> str:
        return cls.source_name

    def schema(self) -> str:
        return frames.DDL

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        return TopicsReader(self.program)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: ARG002, N802
        return TopicsWriter(self.program)
