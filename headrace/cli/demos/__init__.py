"""Applications that `headrace demo` shows, and the tours through them."""
