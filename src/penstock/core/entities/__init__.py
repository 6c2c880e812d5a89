"""Entities as values: settings, slices, transformations."""
