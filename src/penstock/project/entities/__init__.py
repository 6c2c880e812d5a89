"""Entities as documents and models say them, read into values."""
