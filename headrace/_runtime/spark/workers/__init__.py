"""What travels between the application and Spark's Python workers."""
