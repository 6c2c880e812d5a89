"""Doors to what needs a parser. Each opens on first use, so that a warm load opens none."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.errors import UsageError
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.project.files.parsed import RefKind, SqlFile, YamlFile
from penstock.project.files.render_context import RenderContext
from penstock.project.sql.names import NameResolver, QueryOwner, link


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
    """Find the tables of a query: `schema.table`, or the bare name of a model or seed.

    Other tables are external. Raises `UsageError` `not-a-query`, or `parameter-without-partition`:
    nobody gives a typed query the values of parameters.
    """
    from penstock.project.sql.canonical import NotAQueryError
    from penstock.project.sql.sql_file import read_branch  # imports sqlglot

    try:
        branch, _ = read_branch(sql, ())
    except NotAQueryError as error:
        sentence = error.sentence.replace("a model is one query", "one query is expected")
        raise UsageError("not-a-query", sentence, hint='penstock query "select …"') from error
    asked = next((ref.names[0] for ref in branch.refs if ref.kind is RefKind.PARAM), "")
    if asked:
        sentence = f"@{asked} has no value here"
        raise UsageError("parameter-without-partition", sentence, hint="write the value itself")
    return link([branch], _resolver_of(project), QueryOwner("query")).query


def canonical_of(text: str) -> str:
    """Give the canonical form of a stored SQL text, the text itself where it cannot be parsed."""
    from penstock.project.sql import canonical  # imports sqlglot

    return canonical.canonical_of(text)


def json_schemas() -> Mapping[str, str]:
    """Give the JSON Schema of every YAML file by the name it is written under."""
    from penstock.project import editor_schemas  # imports pydantic

    return editor_schemas.json_schemas()


def _resolver_of(project: Project) -> NameResolver:
    """Give the names of a loaded project."""
    resolver = NameResolver(catalog=project.target.catalog)
    prefix = project.target.schema_prefix
    tables = {m.name: m.table for m in project.models.values()}
    tables |= {s.name: s.table for s in project.seeds.values()}
    for name, table in tables.items():
        resolver.add_model(name, table)
    for name, table in tables.items():
        resolver.add_table(TableName(table.schema.removeprefix(prefix), table.table), name)
    for source in project.sources.values():
        resolver.add_source(source.table)
    return resolver
