"""The fluent side of joins: checks, and the nodes each kind of join adds."""
