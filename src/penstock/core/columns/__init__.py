"""Columns: names and types, casts between them, and typed values."""
