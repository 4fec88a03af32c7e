"""Where records come from and go to: embedded topics in a directory, and Kafka."""
