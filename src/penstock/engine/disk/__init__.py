"""Where files of tables, logs, slices, sources and staging lie, and who reads and writes them."""
