"""One query for many partitions, from SQL that is written for one.

A UNION ALL with a branch per partition works for any SQL, but each branch costs a scan, a shuffle
and their jobs. If the WHERE clause contains `e = @partition_date`, every row belongs to one
partition, and a single query over all of them returns the rows of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from penstock.core.names import quoted
from penstock.core.query import PARAMETER

_LOWER = frozenset({"partition_date", "start_date"})  # where a partition begins
_NAME = "penstock:at:"
_CLAUSES = frozenset(
    {"expressions", "from_", "joins", "laterals", "where", "group", "having", "order"}
    | {"distinct", "hint", "with_"}
)
"""The clauses of a SELECT that process rows one by one, or by groups that can be divided."""
_OTHER_GROUPS = (exp.GroupingSets, exp.Cube, exp.Rollup, exp.Tuple)
_OTHER_ROWS = (exp.TableSample, exp.Pivot, exp.QueryTransform, exp.Rand, exp.Randn, exp.Uuid)
_BY_CHANCE = frozenset(
    {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform"}
    | {"uuid", "spark_partition_id", "input_file_name", "reflect", "java_method", "try_reflect"}
)
_PARSER_BUGS = (RuntimeError, AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
_LONGEST = 200_000
_DEEP = re.compile(r"(?:(?:array|map|struct)\s*<[^<>]*){50}", re.IGNORECASE)
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"})


@dataclass(frozen=True, slots=True)
class _Pin:
    """The condition `expression = @partition_date`, which uses the placeholder `slot`."""

    slot: str
    expression: exp.Expression
    text: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A parsed text; `slots` are its placeholders for the partition's lower bound."""

    text: str
    slots: Mapping[str, tuple[int, int]]
    select: exp.Select
    tokens: Sequence[Token]


def one_query(text: str, field: str, kind: str, begins: Sequence[str]) -> str | None:
    """Return one SELECT that returns the rows of the text for several partitions together.

    `begins` are literals of the type `kind`, one per partition. The column `field` of each row is
    the lower bound of its partition. Returns None if this is not certain to be equivalent.

    >>> one_query(
    ...     "SELECT d, count(*) AS n FROM t WHERE d = `penstock:param:partition_date` GROUP BY 1",
    ...     "d",
    ...     "DATE",
    ...     ["DATE '2024-01-01'", "DATE '2024-01-08'"],
    ... )  # doctest: +NORMALIZE_WHITESPACE
    "SELECT d, count(*) AS n FROM t WHERE d = try_cast((d) AS DATE) AND
     try_cast((d) AS DATE) IN (DATE '2024-01-01', DATE '2024-01-08') GROUP BY (d), 1"
    """
    read = _parse(text)
    pin = _pin(read) if read and _is_by_row(read.select) else None
    if read is None or pin is None or not _stands_for_all(read, kind):
        return None
    return _rewrite(read, pin, kind, begins) if _holds_start(read.select, field, pin) else None


def _parse(text: str) -> _Read | None:
    """Replace every placeholder by a name, and parse."""
    named, slots, at = "", {}, 0
    for number, found in enumerate(PARAMETER.finditer(text)):
        if found[1] not in _LOWER:
            return None
        name = f"{_NAME}{number}"
        named += text[at : found.start()]
        slots[name] = (len(named), len(named) + len(quoted(name)))
        named += quoted(name)
        at = found.end()
    named += text[at:]
    tree = parsed_sql(named)
    return _Read(named, slots, tree, _tokens(named)) if isinstance(tree, exp.Select) else None


def parsed_sql(text: str) -> exp.Expr | None:
    """Parse one statement or condition; return None if the parser cannot read it.

    Other code of this room calls the parser only here, because it raises more than its own errors.
    """
    if len(text) > _LONGEST or _DEEP.search(text):  # for which it would take minutes
        return None
    try:
        return parse_one(text, dialect="spark")
    except (SqlglotError, *_PARSER_BUGS):
        return None


def _tokens(text: str) -> list[Token]:
    return list(Spark().tokenize(text))  # what was parsed was cut before


def _is_by_row(select: exp.Select) -> bool:
    """Return whether each row, or each group of `GROUP BY`, is computed independently."""
    if any(value for key, value in select.args.items() if key not in _CLAUSES):
        return False
    group, distinct = select.args.get("group"), select.args.get("distinct")
    sums = (each.find_ancestor(exp.Query, exp.Window) for each in select.find_all(exp.AggFunc))
    if not group and (select.args.get("having") or any(each is select for each in sums)):
        return False  # one row, also of no rows
    if group and (
        any(value for key, value in group.args.items() if key != "expressions")
        or any(isinstance(each, _OTHER_GROUPS) for each in group.expressions)
    ):
        return False
    if distinct and distinct.args.get("on"):
        return False
    if any(each.find_ancestor(exp.Query) is select for each in select.find_all(exp.Window)):
        return False
    called = {
        (each.name if isinstance(each, exp.Anonymous) else each.sql_name()).lower()
        for each in select.find_all(exp.Func)
    }
    return called.isdisjoint(_BY_CHANCE) and not any(select.find_all(*_OTHER_ROWS))


def _is_slot(each: exp.Expr | None) -> bool:
    return isinstance(each, exp.Column) and not each.table and each.name.startswith(_NAME)


def _slots(*roots: exp.Expression | None) -> list[str]:
    """Return the placeholders in some expressions, except those in subqueries and lambdas."""
    return [
        column.name
        for each in roots
        if each is not None
        for column in each.find_all(exp.Column)
        if _is_slot(column)
        and column.find_ancestor(exp.Query) is each.find_ancestor(exp.Query)
        and not column.find_ancestor(exp.Lambda)
    ]


def _pin(read: _Read) -> _Pin | None:
    """Return a WHERE condition that every row must meet and that determines its partition."""
    where = read.select.args.get("where")
    equals = (term for term in _terms(where.this) if isinstance(term, exp.EQ)) if where else ()
    for term in equals:
        slot, other = term.expression, term.this
        if _is_slot(slot) and _is_plain(other) and (text := _compared_text(read, slot.name, other)):
            return _Pin(slot.name, other, text)
    return None


def _terms(condition: exp.Expression) -> Iterator[exp.Expression]:
    """Return the terms of a conjunction."""
    if isinstance(condition, exp.And | exp.Paren):
        yield from _terms(condition.this)
        if isinstance(condition, exp.And):
            yield from _terms(condition.expression)
    else:
        yield condition


def _is_plain(each: exp.Expression) -> bool:
    """Return whether an expression uses only columns of its own row."""
    columns = [*each.find_all(exp.Column)]
    return bool(columns) and not (
        any(map(_is_slot, columns))
        or any(each.find_all(exp.Query, exp.AggFunc, exp.Anonymous, exp.Window, exp.Lambda))
    )


def _compared_text(read: _Read, slot: str, other: exp.Expression) -> str:
    """Return the text compared with a placeholder; "" if it is not alone on one line."""
    tokens = read.tokens
    at = next(n for n, token in enumerate(tokens) if token.start == read.slots[slot][0])
    for first in range(at - 2, -1, -1):
        text = read.text[tokens[first].start : tokens[at - 2].end + 1]
        tree = parsed_sql(f"SELECT {text}")
        if isinstance(tree, exp.Select) and tree.expressions == [other]:
            return "" if re.search(r"[\n]|--|/\*", text) else text
    return ""


def _stands_for_all(read: _Read, kind: str) -> bool:
    """Return whether the pinned expression can replace the parameter everywhere."""
    select = read.select
    where, group = select.args.get("where"), select.args.get("group")
    if sorted(_slots(*select.expressions, where, group)) != sorted(read.slots):
        return False  # in a join, another query, what makes rows, or where no value can stand
    # a number there is a place in the list of columns
    return kind in _MOMENTS or not (group and any(map(_is_slot, group.expressions)))


def _first_table(select: exp.Select) -> str:
    table = select.args.get("from_")
    return table.this.alias_or_name if table else ""


def _holds_start(select: exp.Select, field: str, pin: _Pin) -> bool:
    """Return whether the result column `field` is the lower bound of the row's partition."""
    given = (each for each in select.expressions if isinstance(each, exp.Alias | exp.Column))
    named = [each for each in given if each.alias_or_name.lower() == field.lower()]
    if named:
        return len(named) == 1 and _is_pinned(select, named[0].unalias(), pin)
    column = pin.expression
    if _has_more_tables(select) or not isinstance(column, exp.Column):
        return False
    stars = [each for each in select.expressions if isinstance(each, exp.Star)]
    is_whole = len(stars) == 1 and not any(stars[0].args.values())
    return is_whole and column.name.lower() == field.lower()


def _is_pinned(select: exp.Select, each: exp.Expr, pin: _Pin) -> bool:
    if _is_slot(each):
        return True
    table = "" if _has_more_tables(select) else _first_table(select)
    return _quote(each, table) == _quote(pin.expression, table)


def _has_more_tables(select: exp.Select) -> bool:
    return bool(select.args.get("joins") or select.args.get("laterals"))


def _quote(each: exp.Expr, only: str) -> exp.Expr:
    """Return an expression with quoted names; columns may be qualified by the one table."""

    def quote(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and only and node.table == only and not node.args.get("db"):
            return exp.column(exp.to_identifier(node.name, quoted=True))
        if isinstance(node, exp.Identifier):
            return exp.to_identifier(node.name, quoted=True)
        return node

    return each.copy().transform(quote)


def _rewrite(read: _Read, pin: _Pin, kind: str, begins: Sequence[str]) -> str:
    """Replace the parameter by the row's own partition, and add its group to `GROUP BY`."""
    own = f"try_cast(({pin.text}) AS {kind})"
    pinned = f"{own} AND {own} IN ({', '.join(begins)})"
    edits = [(*at, pinned if name == pin.slot else own) for name, at in read.slots.items()]
    if read.select.args.get("group"):
        end = _end_of_group_by(read.tokens)
        edits.append((end, end, f" ({pin.text}),"))
    text = read.text
    for start, end, value in sorted(edits, reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _end_of_group_by(tokens: Sequence[Token]) -> int:
    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0 and token.token_type is TokenType.GROUP_BY:
            return int(token.end) + 1
    raise ValueError("a query with groups has no GROUP BY")
