"""The applications of `headrace demo`, their input, and the tours that explain them."""
