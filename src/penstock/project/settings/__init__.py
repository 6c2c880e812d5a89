"""Settings of models, sources and the project: keys, layers, strategies."""
