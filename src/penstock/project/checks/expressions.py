"""Reading a condition with the parser: its aggregates, and what it must not hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import Token, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from penstock.core.checks import Condition
from penstock.core.names import quoted
from penstock.core.query import parameter
from penstock.project.canonical import PARSER_BUGS, tokens_of
from penstock.project.checks.calls import Call, aggregates_of, volatile_of
from penstock.project.checks.placeholders import (
    COLUMN,
    placeholders_of,
    replaced,
    unknown_placeholders,
)
from penstock.project.checks.understood import ConditionKind, Understood
from penstock.project.nearest import some_of
from penstock.project.parameters import parameter_problems, parameters_of
from penstock.project.problems import Problem, has_error

_CODE = "bad-check-expression"
_HINT = "use a sql check"
_ONE = "write one condition, such as amount >= 0"
_EMPTY = ("the condition is empty", "write what must hold: {column} >= 0")
_PARAMETER = "penstock:param:"
_SAID = 120
_SESSION = "current_user session_user user current_catalog current_database current_schema"
_NO_COLUMNS = frozenset((*_SESSION.split(), "localtimestamp", "current_time", "_metadata"))
"""Words that Spark may take for something else than a column."""


def understood(text: str, kind: ConditionKind, column: str) -> Understood:
    """Read a condition by itself; what is wrong with it are problems."""
    try:
        tokens = tokens_of(text)
    except SqlglotError as error:
        return Understood(Condition(text), problems=(_unread(error),))
    if not tokens:
        return Understood(Condition(text), problems=(_problem(*_EMPTY),))
    known = COLUMN if column and kind is ConditionKind.CHECK else ""
    found = list(placeholders_of(text, tokens))
    cuts = list(parameters_of(text, tokens))
    problems = unknown_placeholders(text, found, known)
    problems += parameter_problems(text, tokens)
    spots = [(start, end, quoted(column)) for start, end, word in found if word == known]
    spots += [(start, end, parameter(hole.names[0])) for start, end, hole in cuts]
    # Comments at the end go: the condition will stand inside brackets.
    written = replaced(text[: tokens[-1].end + 1], spots)
    found_in = Understood(Condition(written.strip()))
    if not has_error(problems):
        found_in = _analysed(written, kind)
        problems += found_in.problems
    used = tuple(hole for _, _, hole in cuts)
    return replace(found_in, parameters=used, problems=tuple(problems))


def _analysed(text: str, kind: ConditionKind) -> Understood:
    try:
        tokens = tokens_of(text)
        tree = _parsed(tokens, text)
    except SqlglotError as error:
        return Understood(Condition(text.strip()), problems=(_unread(error),))
    aggregates = list(aggregates_of(text, tokens))
    volatile = volatile_of(tokens)
    condition = Condition(
        text.strip(),
        tuple(dict.fromkeys(call.text for call in aggregates)),
        observable=not volatile and all(call.observable for call in aggregates),
    )
    said = _fault(tree, kind, aggregates, volatile)
    problems = (_problem(said, _HINT),) if said else ()
    return Understood(condition, problems=problems, columns=tuple(_columns(tree, text)))


def _parsed(tokens: Sequence[Token], text: str) -> exp.Expr:
    try:
        parser = Spark().parser(error_level=ErrorLevel.IMMEDIATE)
        trees = parser.parse_into(exp.Condition, list(tokens), text)
    except PARSER_BUGS as error:
        raise ParseError(f"the parser gives up ({type(error).__name__})") from error
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("one condition is expected")
    return trees[0]


def _fault(
    tree: exp.Expr, kind: ConditionKind, aggregates: Sequence[Call], volatile: Sequence[str]
) -> str:
    """Say what the condition must not hold, "" if it may stand."""
    if tree.find(exp.Query) is not None:
        return "the condition holds a subquery"
    if tree.find(exp.Window) is not None:
        return "the condition holds a window function"
    if kind is ConditionKind.WHERE:
        first = next(iter(aggregates), None)
        return f"where looks at one row, {first.text} at many" if first else ""
    if volatile:
        return f"the condition calls {volatile[0]}, which gives another value each time"
    bare = _bare(tree, aggregates) if aggregates else []
    mixed = f"the condition mixes {aggregates[0].text} with bare columns: " if bare else ""
    return mixed + some_of(bare)


def _bare(tree: exp.Expr, aggregates: Sequence[Call]) -> list[str]:
    """Name the columns that stand outside of every aggregate."""
    names: dict[str, None] = {}
    for column in tree.find_all(exp.Column):
        first = column.parts[0]
        start = first.meta.get("start")
        is_inside = any(call.start <= start < call.end for call in aggregates if start is not None)
        if start is not None and not is_inside and not first.name.startswith(_PARAMETER):
            names.setdefault(".".join(part.name for part in column.parts))
    return list(names)


def _columns(tree: exp.Expr, text: str) -> Iterator[tuple[str, int]]:
    """Give every column that is named, with its line; of a field of a struct the struct."""
    for column in tree.find_all(exp.Column):
        first = column.parts[0]
        start = first.meta.get("start")
        is_word = not isinstance(first, exp.Identifier) or not first.quoted
        is_other = is_word and first.name.lower() in _NO_COLUMNS
        if start is not None and not is_other and not first.name.startswith(_PARAMETER):
            yield first.name, text.count("\n", 0, start)


def _unread(error: SqlglotError) -> Problem:
    line, said = 1, str(error).partition("\n")[0]
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        line = int(first.get("line") or 1)
        said = str(first.get("description") or "").rstrip(".") or said
        near = str(first.get("highlight") or "")
        said = f"{said.partition(' missing for ')[0]}, near {near!r}" if near else said
    problem = _problem(f"the condition cannot be read: {said[:_SAID]}", _ONE)
    return replace(problem, line_offset=line - 1)


def _problem(sentence: str, hint: str) -> Problem:
    return Problem(_CODE, sentence, hint)
