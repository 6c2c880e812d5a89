"""What files say of models, sources and the project: keys, layers, strategies."""
