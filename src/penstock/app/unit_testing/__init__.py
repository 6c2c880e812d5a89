"""Unit tests of models: each runs a model's complete step in its own warehouse."""
