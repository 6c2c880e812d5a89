"""The storage of tables, logs, slices, sources and staging."""
