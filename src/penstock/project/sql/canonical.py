"""Canonical SQL: one line that keeps only what affects the meaning.

Before: ``select IFNULL(`a`, 1) x -- note``; after: ``SELECT COALESCE(`a`, 1) AS `x` ``. Every
identifier is quoted, so a user's quotes make no difference and no list of keywords is needed.

Spark's own generator omits what it considers a default, and writes some functions as others with
nearly the same meaning. A canonical form must not do that: an edit there would go unnoticed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import groupconcat_sql
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from penstock.core.masking import mask
from penstock.core.names import is_plain
from penstock.core.query import PARAMETERS

if TYPE_CHECKING:
    from sqlglot.generator import Generator

# A query that Spark reads must load even where the parser stumbles over it.
PARSER_BUGS = (
    RuntimeError,  # too deep, above all
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AssertionError,
)
_MOST_TOKENS, _MOST_DEPTH = 100_000, 150
_DEEPER = {
    TokenType.L_PAREN: 1,
    TokenType.R_PAREN: -1,
    TokenType.L_BRACKET: 1,
    TokenType.R_BRACKET: -1,
    TokenType.CASE: 1,
    TokenType.END: -1,
}
_NESTED = ("ARRAY", "MAP", "STRUCT")
_SIDES = ("kind", "start", "start_side", "end", "end_side")
_STARTS = {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "MAP", "REDUCE"}


def _to_date(printer: Generator, node: exp.TsOrDsToDate) -> str:
    if node.args.get("format"):
        return printer.func("TO_DATE", node.this, printer.format_time(node))
    printed: str = Spark.Generator.TRANSFORMS[exp.TsOrDsToDate](printer, node)
    return printed


def _group_concat(printer: Generator, node: exp.GroupConcat) -> str:
    return groupconcat_sql(printer, node, sep=None)


_OURS: dict[type[exp.Expr], Callable[..., str]] = {
    exp.GroupConcat: _group_concat,
    exp.ParseJSON: lambda printer, node: printer.func("PARSE_JSON", node.this, node.expression),
    exp.TsOrDsToDate: _to_date,
    exp.WithinGroup: lambda printer, node: printer.withingroup_sql(node),
}


# What the parser cannot make sense of is Spark's to say; it would speak into the user's terminal.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())


class NotAQueryError(Exception):
    """The text is not exactly one query."""

    def __init__(self, sentence: str, line: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.line = line


def is_ordered(text: str) -> bool:
    """Return whether a query says in which order its rows come; True if it cannot be parsed."""
    try:
        tree = parse_query(tokens_of(text), text)
    except SqlglotError:
        return True
    return tree is None or bool(tree.args.get("order") or tree.args.get("sort"))


def canonical_sql(text: str) -> str | None:
    """Return the canonical form of a query, None if it cannot be parsed or printed."""
    try:
        tokens = tokens_of(text)
        tree = parse_query(tokens, text)
    except (NotAQueryError, SqlglotError):
        return None
    return None if tree is None or has_pipes(tokens) else print_canonical(tree)


def canonical_of(text: str) -> str:
    """Return the canonical form of stored SQL, or the text itself if it cannot be parsed."""
    found = canonical_sql(text)
    return text if found is None else found


def tokens_of(text: str) -> list[Token]:
    """Split a text into tokens, without final semicolons; raise `SqlglotError`."""
    try:
        tokens = list(Spark().tokenize(text))
    except PARSER_BUGS as error:
        raise ParseError("the parser gives up") from error
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return tokens


def trees_of(
    tokens: Sequence[Token], text: str, into: type[exp.Expr] | None = None
) -> list[exp.Expr | None]:
    """Parse tokens, as statements or `into` a type; raise only `SqlglotError`.

    Other code of this room calls the parser only here, so all its exceptions are caught.
    """
    _refuse_large(tokens)
    try:
        parser = Spark().parser(error_level=ErrorLevel.IMMEDIATE)
        if into is not None:
            return list(parser.parse_into(into, list(tokens), text))
        return list(parser.parse(list(tokens), text))
    except PARSER_BUGS as error:
        raise ParseError("the parser gives up") from error


def is_constant(text: str) -> bool:
    """Return whether SQL is one fixed value.

    >>> is_constant("to_date('9999-12-31')"), is_constant("now()")
    (True, False)
    """
    try:
        tree, *others = trees_of(tokens_of(text), text)
    except (SqlglotError, ValueError):  # none at all
        return False
    changing = (exp.CurrentDate, exp.CurrentTimestamp, exp.Rand, exp.Uuid, exp.Anonymous)
    of_rows = (exp.Column, exp.Query, exp.Star, exp.Command, exp.DDL, exp.DML, exp.Alias)
    return tree is not None and not others and not any(tree.find_all(*changing, *of_rows))


def _refuse_large(tokens: Sequence[Token]) -> None:
    """Refuse SQL for which the parser would need minutes, or too much stack."""
    depth = deepest = of_types = 0
    word = ""
    for token in tokens:
        depth += _DEEPER.get(token.token_type, 0)
        of_types += token.token_type is TokenType.LT and word in _NESTED
        of_types = max(0, of_types - token.text.count(">"))
        deepest = max(deepest, depth, of_types)
        word = token.text.upper()
    if deepest > _MOST_DEPTH or len(tokens) > _MOST_TOKENS:
        most = f"{_MOST_TOKENS:,} words, or brackets in more than {_MOST_DEPTH} others"
        raise ParseError(f"this has more than {most}")


def parse_query(tokens: Sequence[Token], text: str) -> exp.Query | None:
    """Parse one query; return None for a query that Spark reads and the parser does not.

    Raises `NotAQueryError` for anything that is not a query, `SqlglotError` for syntax errors.
    """
    if not tokens:
        raise NotAQueryError("there is no query", 1)
    first = tokens[0]
    if first.text.upper() not in _STARTS:
        word = _MADE_NAME.sub("the name of a table", first.text.upper())
        word = word.replace("PENSTOCK:THIS", "{{ this }}")
        raise NotAQueryError(
            f"a model is one query; this begins with {mask(word)[:40]}", first.line
        )
    second = next((t for t in tokens if t.token_type is TokenType.SEMICOLON), None)
    if second is not None:
        raise NotAQueryError("a model is one query; another statement follows", second.line)
    trees = trees_of(tokens, text)
    tree = trees[0] if len(trees) == 1 else None
    if isinstance(tree, exp.DML | exp.DDL | exp.Command) and not isinstance(tree, exp.Query):
        raise NotAQueryError(f"a model is one query; this is {tree.key.upper()}", first.line)
    if not isinstance(tree, exp.Query) or (isinstance(tree, exp.Select) and not tree.expressions):
        return None
    return tree


def has_pipes(tokens: Sequence[Token]) -> bool:
    """Return whether a query has steps after `|>`: its tree then only shows the tables it reads.

    The parser loses the order of steps: `|> LIMIT 5 |> WHERE x` and `|> WHERE x |> LIMIT 5` have
    the same tree.
    """
    return any(token.token_type is TokenType.PIPE_GT for token in tokens)


_MADE_NAME = re.compile(r"PENSTOCK:\d+.*")
"""The placeholder in SQL for a table that a template names."""
_TOKEN = re.compile(r"<Token [^>]*?\btext: (.*?), line: [^>]*>")
_NODE = re.compile(r" missing for <class '[^']*'>")


def said_by(error: SqlglotError) -> tuple[int, str]:
    """Return line and message of a parser error, without class names."""
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    said = str(first.get("description") or str(error).partition("\n")[0])
    said = _TOKEN.sub(lambda found: "its end" if found[1] == "SENTINEL" else repr(found[1]), said)
    return int(first.get("line") or 1), _NODE.sub(" is missing", said).rstrip(".")


def print_canonical(tree: exp.Query) -> str | None:
    """Print a tree in canonical form, changing it; return None if Spark's SQL cannot express it."""
    for node in tree.walk():
        node.pop_comments()  # some are printed whatever the generator is told
        match node:
            case exp.WindowSpec():
                sides = {key: node.args.get(key) for key in _SIDES}
                node.args |= {k: v.upper() for k, v in sides.items() if isinstance(v, str)}
            case exp.Table():
                _split_table(node)
            case exp.Column():
                _split_column(node)
            case exp.Anonymous():  # the case of a function that the parser does not know is nothing
                name = node.name if isinstance(node.this, exp.Identifier) else str(node.this)
                node.set("this", name.upper() if is_plain(name) else node.this)
            case exp.Parameter() if node.name in PARAMETERS:
                node.replace(exp.Var(this=f"@{node.name}"))
            case exp.Identifier() if isinstance(node.parent, exp.Func) and is_plain(node.name):
                node.args["quoted"] = False  # a lambda's variable, which is printed as written
            case _:
                pass
    printer = Spark().generator(identify=True, comments=False, unsupported_level=ErrorLevel.RAISE)
    # Classes that are compiled (sqlglotc) have no subclasses; an instance may print otherwise.
    printer._dispatch = {**printer._dispatch, **_OURS}  # noqa: SLF001
    try:
        return str(printer.generate(tree, copy=False))
    except (SqlglotError, *PARSER_BUGS):
        return None


def dotted_parts(identifier: exp.Identifier) -> tuple[str, ...]:
    """Return the parts of a name; a back-ticked dotted one, `raw.events`, is split too."""
    name = identifier.name
    parts = tuple(name.split("."))
    return parts if identifier.args.get("quoted") and "/" not in name and all(parts) else (name,)


def _split_table(table: exp.Table) -> None:
    written = table.this
    if not isinstance(written, exp.Identifier) or table.args.get("db"):
        return
    *above, last = (exp.to_identifier(part, quoted=True) for part in dotted_parts(written))
    if above:
        catalog, schema, *rest = above if len(above) > 1 else (None, *above)
        table.set("catalog", catalog)
        table.set("db", schema)
        table.set("this", exp.Dot.build([*rest, last]) if rest else last)


def _split_column(column: exp.Column) -> None:
    """Split the first part, `schema.table`; the others are fields, whose names may contain dots."""
    first, outer = ("table", "db") if not column.args.get("db") else ("db", "catalog")
    written = column.args.get(first)
    if not isinstance(written, exp.Identifier) or column.args.get(outer):
        return
    parts = [exp.to_identifier(part, quoted=True) for part in dotted_parts(written)]
    if len(parts) == 2:  # noqa: PLR2004  schema and table
        column.set(outer, parts[0])
        column.set(first, parts[1])
