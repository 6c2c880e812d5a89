"""The SQL of one file: rendered, its tables found, made canonical, linked to names."""
