"""Entities: a slice goes through twelve steps, is counted, and is written."""
