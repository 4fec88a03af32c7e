"""Describes a graph: as text, as a Mermaid flowchart, and by levels of repartitions."""
