"""The wheel and the sdist: how they are built, and what is in them."""
