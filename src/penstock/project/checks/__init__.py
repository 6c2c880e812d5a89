"""Checks as users write them, in every place where they may stand."""
