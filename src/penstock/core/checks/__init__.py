"""Checks, their types and their results, as values."""
