"""Facts about the SQL of a calculated column, derived from its text without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from penstock.core.names import quoted
from penstock.project.checks.expressions import aggregates_of, volatile_of
from penstock.project.entities.parts import ExpressionFacts
from penstock.project.sql.canonical import (
    NotAQueryError,
    canonical_of,
    parse_query,
    said_by,
    tokens_of,
    trees_of,
)
from penstock.project.sql.outputs import outputs_of

_NAMES = """
explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple
variant_explode variant_explode_outer
"""
GENERATORS = frozenset(_NAMES.split())
"""Every function that returns several rows for one."""
_OF_USERS = frozenset({"current_user", "session_user", "user"})
_OPEN_ENDS = (TokenType.COMMA, TokenType.ALIAS)
_SAID = 120


def facts_of(text: str) -> ExpressionFacts:
    """Read one expression.

    >>> facts = facts_of("upper(`Odd name`) || uuid() -- who knows")
    >>> facts.text, facts.reads, facts.volatile
    ('upper(`Odd name`) || uuid()', ('Odd name',), ('uuid',))
    >>> facts_of("-1.50").literal, facts_of("'EMEA'").literal
    ('-1.5', 'EMEA')
    >>> facts_of("sum(x)").problem
    'sum(x) reads many rows'
    """
    try:
        tokens = tokens_of(text)
        tree = _parsed(tokens, text)
    except SqlglotError as error:
        said = said_by(error)[1].partition(" into ")[0][:_SAID]
        return ExpressionFacts(problem=f"it cannot be read as one expression: {said}")
    problem = _problem(tree, tokens)
    if problem:
        return ExpressionFacts(problem=problem)
    aggregate = next((each.text for each in aggregates_of(text, tokens)), "")
    columns = (each for each in tree.find_all(exp.Column) if not _is_user(each))
    reads = dict.fromkeys(each.parts[0].name for each in columns)
    volatile = dict.fromkeys((*volatile_of(tokens), *_users_of(tree, tokens)))
    written = text[: tokens[-1].end + 1].strip()
    problem = f"{aggregate} reads many rows" if aggregate else ""
    return ExpressionFacts(
        written,
        tuple(reads),
        tuple(volatile),
        _literal(tree),
        problem,
        aggregate,
        canonical_of(f"SELECT {written}"),
    )


def _parsed(tokens: Sequence[Token], text: str) -> exp.Expr:
    trees = trees_of(tokens, text, exp.Condition)
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("one expression is expected")
    return trees[0]


def _problem(tree: exp.Expr, tokens: Sequence[Token]) -> str:
    if isinstance(tree, exp.Star):
        return "it means several columns"
    if tree.find(exp.Query) is not None:
        return "it holds a subquery"
    if tree.find(exp.Window) is not None:
        return "it holds a window function"
    made = next((name for name in _calls(tokens) if name in GENERATORS), "")
    return f"{made} makes several rows of one" if made else ""


def _calls(tokens: Sequence[Token]) -> Iterator[str]:
    for one, after in pairwise(tokens):
        if after.token_type is TokenType.L_PAREN:
            yield one.text.lower()


def _users_of(tree: exp.Expr, tokens: Sequence[Token]) -> Iterator[str]:
    yield from (name for name in _calls(tokens) if name in _OF_USERS)
    yield from (each.name.lower() for each in tree.find_all(exp.Column) if _is_user(each))
    if tree.find(exp.CurrentUser) is not None:
        yield "current_user"


def _is_user(column: exp.Column) -> bool:
    """Return whether Spark interprets a bare name as the current user."""
    is_bare = len(column.parts) == 1 and not column.this.args.get("quoted")
    return is_bare and column.name.lower() in _OF_USERS


def _literal(tree: exp.Expr) -> str:
    """Return the value of a literal; numbers without redundant zeros."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    sign = ""
    if isinstance(tree, exp.Neg):
        sign, tree = "-", tree.this
    if isinstance(tree, exp.Boolean) and not sign:
        return str(tree.this).lower()
    if not isinstance(tree, exp.Literal) or (tree.is_string and sign):
        return ""
    if tree.is_string:
        return str(tree.this)
    return sign + f"{Decimal(tree.this).normalize():f}"


def projection_facts(item: str) -> ExpressionFacts:
    """Parse one item of a projection: its volatile columns, and why it is not a select list.

    >>> projection_facts("*, uuid() AS id, a").volatile
    ('id',)
    >>> projection_facts("a FROM t WHERE a > 1").problem
    'a select list has no FROM or WHERE'
    """
    text = f"SELECT {item}"
    try:
        tokens = tokens_of(text)
        query = parse_query(tokens, text)
    except SqlglotError as error:
        said = said_by(error)[1] or str(error).partition(" into ")[0]
        return ExpressionFacts(problem=said[:_SAID])
    except NotAQueryError as error:
        return ExpressionFacts(problem=error.sentence.rpartition("; ")[2])
    if len(tokens) == 1 or tokens[-1].token_type in _OPEN_ENDS:
        return ExpressionFacts(problem=f"nothing follows {tokens[-1].text}")
    if query is None:  # Spark reads it, and the parser does not
        return ExpressionFacts(item)
    if not isinstance(query, exp.Select):
        return ExpressionFacts(problem=f"it holds {query.key.upper()}")
    known = {"expressions", "hint", "distinct", "kind", "operation_modifiers"}
    more = [k.strip("_").upper() for k, value in query.args.items() if value and k not in known]
    if more:
        return ExpressionFacts(problem=f"a select list has no {' or '.join(sorted(more))}")
    columns = outputs_of(query).columns
    volatile = tuple(each.name for each in columns if each.name and each.volatile)
    return ExpressionFacts(item, volatile=volatile)


def columns_over(text: str, view: str, view_columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a query over a view with these columns, as far as its text shows.

    >>> columns_over("SELECT *, upper(b) AS c FROM (SELECT a, b FROM `v`)", "v", ["a", "b", "x y"])
    ('a', 'b', 'c')
    """
    values = ", ".join(f"NULL AS {quoted(name)}" for name in view_columns) or "NULL"
    whole = f"WITH {quoted(view)} AS (SELECT {values}) {text}"
    try:
        query = parse_query(tokens_of(whole), whole)
    except (SqlglotError, NotAQueryError):  # Spark will say
        return tuple(view_columns)
    columns = outputs_of(query).columns if query is not None else ()
    return tuple(each.name for each in columns if each.name)
