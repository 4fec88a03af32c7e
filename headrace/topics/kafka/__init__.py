"""Topics on Kafka: reading them, writing in transactions, the records that a topic refuses."""
