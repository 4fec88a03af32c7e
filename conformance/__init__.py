"""Headrace against the real Kafka Streams: the same topologies, the same inputs, recorded results."""
