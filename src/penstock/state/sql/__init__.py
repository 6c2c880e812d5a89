"""The store over SQLAlchemy Core: one set of statements for every database."""
