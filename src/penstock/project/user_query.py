"""A query that a user typed, for `penstock query`."""

from __future__ import annotations

from penstock.core.errors import UsageError
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.project.files.parsed import HoleKind
from penstock.project.sql.canonical import NotAQueryError
from penstock.project.sql.link import Reader, link
from penstock.project.sql.mentions import read_branch
from penstock.project.sql.names import Book


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
    asked = next((hole.names[0] for hole in branch.holes if hole.kind is HoleKind.PARAM), "")
    if asked:
        sentence = f"@{asked} has no value here"
        raise UsageError("parameter-without-partition", sentence, hint="write the value itself")
    return link([branch], book_of(project), Reader("query")).query


def book_of(project: Project) -> Book:
    """Give the names of a loaded project."""
    book = Book(catalog=project.target.catalog)
    prefix = project.target.schema_prefix
    tables = {m.name: m.table for m in project.models.values()}
    tables |= {s.name: s.table for s in project.seeds.values()}
    for name, table in tables.items():
        book.add_model(name, table)
    for name, table in tables.items():
        book.add_table(TableName(table.schema.removeprefix(prefix), table.table), name)
    for source in project.sources.values():
        book.add_source(source.table)
    return book
