"""Checks of a step: what they read, their results, and the consequences."""
