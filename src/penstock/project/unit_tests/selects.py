"""SQL that stands for rows of a test: a query that reads no table."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError


def select_problem(text: str) -> tuple[str, str] | None:
    """Say why a text cannot stand for rows, as a code and a sentence; None if it can.

    What the parser cannot read is left to Spark.

    >>> select_problem("select 1 as id union all select 2"), select_problem("select * from t")
    (None, ('bad-value', 'it reads the table t; a test reads none'))
    """
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="spark") if tree is not None]
    except (SqlglotError, RecursionError):
        return None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query | exp.Values):
        return "not-a-query", "it is no query"
    tree = trees[0]
    own = {str(cte.alias).lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        is_named = isinstance(table.this, exp.Identifier)
        if is_named and (table.db or table.name.lower() not in own):
            return (
                "bad-value",
                f"it reads the table {table.sql(dialect='spark')}; a test reads none",
            )
    return None
