"""The public API of Kafka Streams, and what stands for each part of it in Headrace."""
