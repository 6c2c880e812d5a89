"""Unit tests of models: each runs a model's whole step in a warehouse of its own."""
