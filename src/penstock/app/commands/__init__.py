"""The use cases: one file for each command."""
