"""A query that a user typed, for `penstock query`."""

from __future__ import annotations

from penstock.core.errors import UsageError
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.project.files.parsed import RefKind
from penstock.project.sql.canonical import NotAQueryError
from penstock.project.sql.link import QueryOwner, link
from penstock.project.sql.mentions import read_branch
from penstock.project.sql.names import NameResolver


def parse_user_query(project: Project, sql: str) -> Query:
    """Find the tables of a query: `schema.table`, or the bare name of a model or seed.

    Other tables are external. Raises `UsageError` `not-a-query`, or `parameter-without-partition`:
    nobody gives a typed query the values of parameters.
    """
    try:
        branch, _ = read_branch(sql, ())
    except NotAQueryError as error:
        sentence = error.sentence.replace("a model is one query", "one query is expected")
        raise UsageError("not-a-query", sentence, hint='penstock query "select …"') from error
    asked = next((ref.names[0] for ref in branch.refs if ref.kind is RefKind.PARAM), "")
    if asked:
        sentence = f"@{asked} has no value here"
        raise UsageError("parameter-without-partition", sentence, hint="write the value itself")
    return link([branch], resolver_of(project), QueryOwner("query")).query


def resolver_of(project: Project) -> NameResolver:
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
