"""Beside models: hooks and grants, exposures and groups."""
