"""Doors to what needs a parser. Each opens on first use, so that a warm load opens none."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.project import Project
from penstock.core.query import Query
from penstock.project.files.parsed import SqlFile, YamlFile
from penstock.project.files.render_context import RenderContext


def parse_sql_files(
    texts: Mapping[str, str], macros: Mapping[str, str], render_context: RenderContext
) -> dict[str, SqlFile]:
    """Render and read model files; imports Jinja, sqlglot and pydantic if there is any."""
    if not texts:
        return {}
    from penstock.project.sql import sql_file  # costs 0.2 s that a warm load saves

    return sql_file.parse_sql_files(texts, macros, render_context)


def parse_sql(path: str, text: str, line: int) -> SqlFile:
    """Read SQL that is no template and begins on a line of a file; imports sqlglot."""
    from penstock.project.sql import sql_file  # costs 0.2 s that a warm load saves

    return sql_file.parse_plain_sql(path, text, line)


def truncations(text: str) -> Mapping[str, str]:
    """Give the output columns that are truncated to a unit of the calendar; imports sqlglot."""
    from penstock.project.sql import outputs  # costs 0.2 s that a warm load saves

    return outputs.truncations(text)


def parse_yaml_file(path: str, text: str, environ: Mapping[str, str]) -> YamlFile:
    """Read and check one YAML file; imports PyYAML and pydantic."""
    from penstock.project.settings import yaml_file  # costs 0.1 s that a warm load saves

    return yaml_file.parse_yaml_file(path, text, environ)


def parse_user_query(project: Project, sql: str) -> Query:
    """Read a query that a user typed: models, seeds and sources by `schema.table`, models by name.

    Other tables are external. Raises `UsageError` `not-a-query` for any other statement.
    """
    from penstock.project import user_query  # imports sqlglot

    return user_query.parse_user_query(project, sql)


def canonical_of(text: str) -> str:
    """Give the canonical form of a stored SQL text, the text itself where it cannot be parsed."""
    from penstock.project.sql import canonical  # imports sqlglot

    return canonical.canonical_of(text)


def json_schemas() -> Mapping[str, str]:
    """Give the JSON Schema of every YAML file by the name it is written under."""
    from penstock.project import editor_schemas  # imports pydantic

    return editor_schemas.json_schemas()
