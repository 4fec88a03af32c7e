"""Random topologies on Kafka Streams and on Headrace, compared record by record."""
