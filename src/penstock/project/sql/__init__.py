"""The SQL of one file: rendering, tables, canonical form, linking."""
