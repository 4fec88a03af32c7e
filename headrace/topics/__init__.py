"""Topics that applications read and write: embedded in a directory, or on Kafka. Neither needs Spark."""
