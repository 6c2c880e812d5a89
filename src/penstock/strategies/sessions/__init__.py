"""Session tables as statements: the base tables of a run, its modules, and what is stitched."""
