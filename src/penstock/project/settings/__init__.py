"""What files say of models, sources and the project: shapes, layers, strategies."""
