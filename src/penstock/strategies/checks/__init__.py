"""Checks: one file per type, each deciding what is measured and what that means."""
