"""Deciding: drift, order, windows and schema changes, as functions of values."""
