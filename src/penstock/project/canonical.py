"""Canonical SQL: one line in which only what changes the meaning is left (spec/drift.md §4).

Before: ``select  IFNULL(`a`, 1) x -- note``; after: ``SELECT COALESCE(`a`, 1) AS `x` ``.
Every identifier is quoted, so whether a user quoted it makes no difference and no list of
keywords decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

# A query that Spark reads must load even where the parser stumbles over it.
PARSER_BUGS = (RecursionError, AttributeError, KeyError, IndexError, TypeError, ValueError)
_SIDES = ("kind", "start", "start_side", "end", "end_side")
_STARTS = {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "MAP", "REDUCE"}


class NotAQueryError(Exception):
    """The text holds another statement than a query, several, or none."""

    def __init__(self, sentence: str, line: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.line = line


def canonical_sql(text: str) -> str | None:
    r"""Give the canonical form of a query, None where it cannot be parsed or printed back.

    >>> canonical_sql("select a::INT x from `raw.t` -- note") == canonical_sql(
    ...     "SELECT CAST(`a` AS INT) AS x\nFROM raw.t;"
    ... )
    True
    """
    try:
        tree = parse_query(tokens_of(text), text)
    except (NotAQueryError, SqlglotError):
        return None
    return None if tree is None else print_canonical(tree)


def tokens_of(text: str) -> list[Token]:
    """Cut a text into tokens, semicolons at its end left out; raises `SqlglotError`."""
    tokens = list(Spark().tokenize(text))
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return tokens


def parse_query(tokens: Sequence[Token], text: str) -> exp.Query | None:
    """Parse one query; None for a query that Spark reads and the parser does not.

    Raises `NotAQueryError` for anything that is no query at all, `SqlglotError` on syntax.
    """
    if not tokens:
        raise NotAQueryError("there is no query", 1)
    first = tokens[0]
    if first.text.upper() not in _STARTS:
        word = first.text.upper()
        raise NotAQueryError(f"a model is one query; this begins with {word[:40]}", first.line)
    second = next((t for t in tokens if t.token_type is TokenType.SEMICOLON), None)
    if second is not None:
        raise NotAQueryError("a model is one query; another statement follows", second.line)
    try:
        trees = Spark().parser(error_level=ErrorLevel.IMMEDIATE).parse(list(tokens), text)
    except PARSER_BUGS as error:
        raise ParseError(f"the parser gives up ({type(error).__name__})") from error
    tree = trees[0] if len(trees) == 1 else None
    if isinstance(tree, exp.DML | exp.DDL | exp.Command) and not isinstance(tree, exp.Query):
        raise NotAQueryError(f"a model is one query; this is {tree.key.upper()}", first.line)
    if not isinstance(tree, exp.Query) or (isinstance(tree, exp.Select) and not tree.expressions):
        return None
    return tree


def print_canonical(tree: exp.Query) -> str | None:
    """Print a tree in canonical form, changing it; None if Spark's SQL cannot express it."""
    for node in tree.walk():
        if isinstance(node, exp.WindowSpec):
            for side in _SIDES:
                value = node.args.get(side)
                if isinstance(value, str):
                    node.set(side, value.upper())
        elif isinstance(node, exp.Table):
            _split(node, "this", "db")
        elif isinstance(node, exp.Column):
            _split(node, "table", "db")
    try:
        return tree.sql(
            Spark, copy=False, identify=True, comments=False, unsupported_level=ErrorLevel.RAISE
        )
    except (SqlglotError, *PARSER_BUGS):
        return None


def dotted_parts(identifier: exp.Identifier) -> tuple[str, ...]:
    """Give the parts of a name; a back-ticked dotted one means its parts.

    >>> dotted_parts(exp.to_identifier("raw.events", quoted=True))
    ('raw', 'events')
    """
    name = identifier.name
    if identifier.args.get("quoted") and "." in name and "/" not in name:
        parts = tuple(name.split("."))
        return parts if all(parts) else (name,)
    return (name,)


def _split(node: exp.Expression, inner: str, outer: str) -> None:
    identifier = node.args.get(inner)
    if not isinstance(identifier, exp.Identifier) or node.args.get(outer):
        return
    parts = dotted_parts(identifier)
    if len(parts) == 2:  # noqa: PLR2004  schema and table
        node.set(outer, exp.to_identifier(parts[0], quoted=True))
        node.set(inner, exp.to_identifier(parts[1], quoted=True))
