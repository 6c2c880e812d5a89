"""The strategy `view`."""

from __future__ import annotations

from penstock.core.statement import Commit, Work


def view(catalog_view: str, sql: str) -> Work:
    """Keep the query under a name.

    In a catalog that is `CREATE OR REPLACE VIEW`, idempotent and without a log. Over path tables
    nothing is run: whoever reads the view reads its query.

    >>> view("main.s.v", "SELECT 1 AS n").decide({}).sql
    'CREATE OR REPLACE VIEW main.s.v AS SELECT 1 AS n'
    >>> view("", "SELECT 1 AS n").decide({}) is None
    True
    """
    if not catalog_view:
        return Work.just(None)
    return Work.just(Commit(f"CREATE OR REPLACE VIEW {catalog_view} AS {sql}", once=False))
