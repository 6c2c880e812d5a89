"""The columns of a query, derived from its text without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.core.query import RUN_TIMESTAMP
from penstock.project.files.parsed import OutputColumn, Outputs
from penstock.project.sql.canonical import (
    PARSER_BUGS,
    NotAQueryError,
    parse_query,
    tokens_of,
)

_PARSED: Mapping[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentDate: "current_date",
    exp.Rand: "rand",
    exp.Randn: "randn",
    exp.Uuid: "uuid",
}
_UNPARSED = ("now", "monotonically_increasing_id", "spark_partition_id", "input_file_name")
VOLATILE = (*_PARSED.values(), *_UNPARSED)
_PLAIN = exp.Literal | exp.Binary | exp.Cast | exp.Paren | exp.Case | exp.Parameter
"""Expressions that are certain to be one unnamed column, not a generator."""
_OPAQUE = Outputs()
Tables = Mapping[str, Outputs]
_UNITS = ("HOUR", "DAY", "WEEK", "MONTH", "YEAR")
_SHORT = {"DD": "DAY", "MON": "MONTH", "MM": "MONTH", "YYYY": "YEAR", "YY": "YEAR"}


def outputs_of(tree: exp.Query, tables: Tables = MappingProxyType({})) -> Outputs:
    """Return the columns of a query, also through CTEs, subqueries, unions, and `tables`."""
    try:
        return _of_query(tree, tables)
    except PARSER_BUGS:
        return _OPAQUE


def columns_of_text(text: str, tables: Tables) -> tuple[str, ...] | None:
    """Return the columns of a query that names its tables by bare words; None if unknown.

    >>> columns_of_text("select *, 1 as c from t", {"t": Outputs.of(["a", "b"])})
    ('a', 'b', 'c')
    """
    try:
        tree = parse_query(tokens_of(text), text)
    except (NotAQueryError, SqlglotError, *PARSER_BUGS):
        return None
    return outputs_of(tree, tables).names if tree is not None else None


_MIXING: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Join,), "a join"),
    ((exp.Group, exp.Having), "GROUP BY"),
    ((exp.Distinct,), "DISTINCT"),
    ((exp.Window,), "a window function"),
    ((exp.Limit, exp.Offset, exp.Fetch), "LIMIT"),
    ((exp.Order,), "ORDER BY"),
    ((exp.Except, exp.Intersect), "EXCEPT or INTERSECT"),
    ((exp.Lateral, exp.UDTF), "a generator of rows"),
    ((exp.Pivot, exp.TableSample), "PIVOT or TABLESAMPLE"),
    ((exp.AggFunc,), "an aggregate"),
)


def mixes_rows(text: str) -> str:
    """Return what in a query needs several rows of its input, "" if the text shows nothing.

    >>> mixes_rows("select a, max(b) from t group by a"), mixes_rows("select a + 1 as b from t")
    ('GROUP BY', '')
    """
    try:
        tree = parse_query(tokens_of(text), text)
    except (NotAQueryError, SqlglotError, *PARSER_BUGS):
        return ""
    if tree is None:
        return ""
    tables = {table.name.lower() for table in tree.find_all(exp.Table)}
    tables -= {str(cte.alias).lower() for cte in tree.find_all(exp.CTE)}
    found = [what for kinds, what in _MIXING if tree.find(*kinds) is not None]
    return next(iter(found), "several tables" if len(tables) > 1 else "")


def _of_query(tree: exp.Expr, above: Tables) -> Outputs:
    tables = dict(above)
    clause = tree.args.get("with_") or tree.args.get("with")  # the older parsers' key
    for cte in clause.expressions if isinstance(clause, exp.With) else ():
        tables[str(cte.alias).lower()] = _renamed(cte, _of_query(cte.this, tables))
    if isinstance(tree, exp.Subquery):
        return _of_query(tree.this, tables)
    if isinstance(tree, exp.SetOperation):
        return _of_union(tree, tables)
    return _of_select(tree, tables) if isinstance(tree, exp.Select) else _OPAQUE


def _of_union(tree: exp.SetOperation, tables: Tables) -> Outputs:
    left, right = _of_query(tree.this, tables), _of_query(tree.expression, tables)
    if tree.args.get("by_name") or not (left.whole and right.whole):
        return Outputs(left.columns, whole=left.whole and not tree.args.get("by_name"))
    if len(left.columns) != len(right.columns):
        return left
    pairs = zip(left.columns, right.columns, strict=True)
    both = (replace(a, volatile=tuple(sorted({*a.volatile, *b.volatile}))) for a, b in pairs)
    return Outputs(tuple(both), whole=True)


def _of_select(select: exp.Select, tables: Tables) -> Outputs:
    sources = _sources(select, tables)
    columns: list[OutputColumn] = []
    whole = True
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star):
            inner = _of_star(item, select, sources)
            columns += (replace(each, unit="") for each in inner.columns)
            whole = whole and inner.whole
            continue
        named = [(one.name, int(one.meta.get("line", 1))) for one in _names(item)]
        is_one = isinstance(item, _PLAIN) or type(item) in _PARSED or _is_volatile(item)
        named = named or [("", 1)] * is_one
        volatile, unit = tuple(sorted(_made_by(item, sources))), _unit(item)
        columns += (OutputColumn(name, line, volatile, unit) for name, line in named)
        whole = whole and bool(named)
    return Outputs(tuple(columns), whole=whole)


def _sources(select: exp.Select, tables: Tables) -> dict[str, Outputs]:
    clause = select.args.get("from_") or select.args.get("from")  # the older parsers' key
    joins = select.args.get("joins") or []
    nodes = enumerate(node.this for node in (clause, *joins) if node is not None)
    return {str(n.alias_or_name).lower() or f"#{i}": _of_source(n, tables) for i, n in nodes}


def _of_source(node: exp.Expr, tables: Tables) -> Outputs:
    if node.args.get("pivots"):
        return _OPAQUE
    if isinstance(node, exp.Subquery):
        return _renamed(node, _of_query(node, tables))
    if isinstance(node, exp.Table) and not node.args.get("db"):
        return _renamed(node, tables.get(node.name.lower(), _OPAQUE))
    return _OPAQUE


def _renamed(node: exp.Expr, inner: Outputs) -> Outputs:
    alias = node.args.get("alias")
    names = alias.columns if isinstance(alias, exp.TableAlias) else []
    if not names:
        return inner
    if not inner.whole or len(names) != len(inner.columns):
        return _OPAQUE
    pairs = zip(names, inner.columns, strict=True)
    return Outputs(tuple(OutputColumn(n.name, c.line, c.volatile) for n, c in pairs), whole=True)


def _of_star(item: exp.Expr, select: exp.Select, sources: Tables) -> Outputs:
    star = item if isinstance(item, exp.Star) else item.this
    if any(star.args.values()):  # except, replace, rename
        return _OPAQUE
    if isinstance(item, exp.Column):
        return sources.get(item.table.lower(), _OPAQUE)
    if len(sources) != 1 or select.args.get("laterals") or select.args.get("joins"):
        return _OPAQUE
    return next(iter(sources.values()))


def _names(item: exp.Expr) -> Iterator[exp.Identifier]:
    """Yield the names of a selected expression; empty if Spark generates one."""
    if isinstance(item, exp.Alias):
        found = [item.args.get("alias")]
    elif isinstance(item, exp.Aliases):
        found = list(item.aliases and item.expressions)
    else:  # Spark keeps a cast column's name
        inner = item.this if isinstance(item, exp.Cast) else item
        found = [inner.this] if isinstance(inner, exp.Column) else []
    yield from (n for n in found if isinstance(n, exp.Identifier) and n.name != RUN_TIMESTAMP)


def _is_volatile(item: exp.Expr) -> bool:
    return isinstance(item, exp.Anonymous) and item.name.lower() in VOLATILE


def _made_by(item: exp.Expr, sources: Tables) -> set[str]:
    made: set[str] = set()
    for node in item.walk():
        if _is_volatile(node):
            made.add(node.name.lower())
        elif type(node) in _PARSED:
            made.add(_PARSED[type(node)])
        elif isinstance(node, exp.Column):
            table = node.table.lower()
            read = [each for alias, each in sources.items() if table in ("", alias)]
            columns = (c for each in read for c in each.columns if table or len(read) == 1)
            made.update(
                w for c in columns if c.name.lower() == node.name.lower() for w in c.volatile
            )
    return made


def _unit(item: exp.Expr) -> str:
    """Return the calendar unit that a selected date or time is truncated to, or ""."""
    item = item.unalias()
    while isinstance(item, exp.Cast | exp.TsOrDsToDate | exp.Paren | exp.Date):
        item = item.this
    if not isinstance(item, exp.DateTrunc | exp.TimestampTrunc):
        return ""
    written = str(item.unit.name if item.unit else "").upper()
    unit = _SHORT.get(written, written)
    return unit if unit in _UNITS else ""
