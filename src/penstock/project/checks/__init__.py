"""Checks as users write them, in every place that allows them."""
