"""Decide about drift, order, windows and schema changes, as pure functions."""
