"""Checks: one file per type, with its measurements and their evaluation."""
