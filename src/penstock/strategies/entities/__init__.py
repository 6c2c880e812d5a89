"""Entities: a slice through twelve steps, counted, then written as full, merge or historic."""
