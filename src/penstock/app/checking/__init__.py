"""Checks around a step: what they look at, what they say, what follows from it."""
