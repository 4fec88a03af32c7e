"""The topics as a Spark data source. Its read tasks also ingest, which saves a pass through Spark."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, DataSourceStreamReader
from pyspark.sql.types import StructType

from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.topics.reader import TopicsReader
from headrace._runtime.spark.topics.writer import TopicsWriter


def data_source(name: str, packed: bytes) -> type[DataSource]:
    """Creates the data source class of one query; Spark pickles the class together with the plan."""

    class QueryTopics(_TopicsSource):
        source_name = name
        packed_plan = packed

    return QueryTopics


class _TopicsSource(DataSource):
    source_name: str
    packed_plan: bytes

    @classmethod
    def name(cls) -> str:
        return cls.source_name

    def schema(self) -> str:
        return frames.DDL

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        return TopicsReader(self.packed_plan)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: ARG002, N802
        return TopicsWriter(self.packed_plan)
