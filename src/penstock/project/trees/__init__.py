"""Trees of YAML as users wrote them: nodes with places, and how they are read."""
