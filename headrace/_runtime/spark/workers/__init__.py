"""What is sent between the application and Spark's Python workers: plans, modules, errors."""
