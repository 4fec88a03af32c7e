"""Topics on Kafka or in a directory, read and written by Spark."""
