"""A task: it orders the records of its partitions and passes them through its operators."""
