"""Checks, their types and what they said, as values."""
