"""The graph as text and as a picture."""
