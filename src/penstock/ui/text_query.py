"""What `query` prints."""

from __future__ import annotations

from penstock.core.engine_ports import QueryResult
from penstock.ui.text_table import aligned, count

NULL = "NULL"


def query_text(result: QueryResult) -> str:
    """Give the rows under the names that the query gives its columns, then how many there are."""
    rows = [[NULL if value is None else value for value in row] for row in result.rows]
    body = aligned([result.columns, *rows], [False] * len(result.columns))
    more = "; there are more, see --limit" if result.truncated else ""
    return f"{body}\n\n{count(len(rows), 'row')}{more}"
