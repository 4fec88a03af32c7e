"""Topics on Kafka: reading, writing in transactions, rules of topics."""
