"""Which columns of its inputs each column of a query is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope
from sqlglot.schema import MappingSchema

from penstock.project.sql.canonical import (
    PARSER_BUGS,
    NotAQueryError,
    parse_query,
    tokens_of,
)

Columns = Mapping[str, str]
"""Types by name."""
_MOST = 200  # columns of a query: each takes a walk through it


def column_lineage(
    sql: str, tables: Mapping[str, Columns]
) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return the tables and columns that each output column reads; empty if that is unknown.

    `*` is among the columns if there are others, behind a star that could not be resolved.
    `tables` are the columns of the inputs by the names that the query uses. Columns of filters and
    joins do not count.

    >>> column_lineage("select a + b as c from s.t", {"s.t": {"a": "int", "b": "int"}})
    {'c': (('s.t', 'a'), ('s.t', 'b'))}
    """
    try:
        schema = _schema(tables)
        query = parse_query(tokens_of(sql), sql)
        if query is None:
            return {}
        tree = qualify(query, schema=schema, dialect="spark", validate_qualify_columns=False)
        scope = build_scope(tree)
        selected = getattr(tree, "named_selects", ())
        names = [n for n in selected if n != "*"]
        if scope is None or len(names) > _MOST:
            return {}
        nodes = {
            # copies of the query for each column would take most of the time
            name: lineage(
                name, tree, schema, scope=scope, dialect="spark", trim_selects=False, copy=False
            )
            for name in names
        }
    except (NotAQueryError, SqlglotError, *PARSER_BUGS):
        return {}
    found = {
        name: tuple(
            sorted(
                {
                    (
                        f"{each.source.db}.{each.source.name}",
                        each.name.partition(".")[2].strip('`"'),
                    )
                    for each in node.walk()
                    if isinstance(each.source, exp.Table) and "." in each.name
                }
            )
        )
        for name, node in nodes.items()
    }
    return found | {"*": ()} if "*" in selected else found


def _schema(tables: Mapping[str, Columns]) -> MappingSchema:
    nested: dict[str, Any] = {}
    for name, columns in tables.items():
        above, _, table = name.rpartition(".")
        nested.setdefault(above, {})[table] = columns
    return MappingSchema(nested, dialect="spark")
