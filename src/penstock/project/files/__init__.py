"""Files as text and trees: found, read, kept in the cache. Nothing here knows a model."""
