"""Edits of texts of a dbt project in place: templates by tokens, YAML by nodes."""
