"""Session tables as statements: base tables of a run, modules, and stitching."""
