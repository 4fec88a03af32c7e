"""How a micro-batch runs: ingest, the tasks of each stage, the frames between them, the commit."""
