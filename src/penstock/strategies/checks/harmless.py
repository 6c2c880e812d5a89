"""Conditions that cannot fail for any rows: they may be computed while rows are written.

Spark fails a job for a division by zero, an overflow, or a text that is not a number. Only
conditions that are certain not to do so are accepted here; others are evaluated on the written
rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from penstock.core.columns.schema import Schema
from penstock.core.columns.types import is_text
from penstock.core.partitions import calendar
from penstock.strategies.checks import literals
from penstock.strategies.one_query import parsed_sql

_INTEGER, _DECIMAL, _FLOAT, _TEXT, _BOOLEAN = "integer", "decimal", "float", "text", "boolean"
_NULL, _OTHER = "null", "other"
_WHOLE, _SCALE = 20, 18  # digits of a decimal that every other number of these can be widened to
_NUMBERS = {_INTEGER, _DECIMAL, _FLOAT, _NULL}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_MEANS = (exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)


def is_harmless(condition: str, columns: Schema) -> bool:
    """Return whether a condition gives true, false or NULL for all rows with these columns."""
    tree = parsed_sql(condition)
    return tree is not None and _kind(tree, columns) in {_BOOLEAN, _NULL}


def _kind(node: exp.Expr, columns: Schema) -> str:
    """Return the kind of an expression's values, "" if it could fail or is unknown."""
    match node:
        case exp.Paren():
            return _kind(node.this, columns)
        case exp.Column():
            return _of_column(node, columns)
        case exp.Literal():
            return _of_literal(node)
        case exp.Neg(this=exp.Literal() as inner) if not inner.is_string:
            return _of_literal(inner)
        case exp.Boolean():
            return _BOOLEAN
        case exp.Null():
            return _NULL
        case exp.Cast(this=exp.Literal() as inner) if inner.is_string:  # DATE '2024-12-01'
            kind = node.to.sql("spark").lower()
            is_time = kind in literals.TIMES and calendar.instant(str(inner.this)) is not None
            return kind if is_time else ""
        case exp.AggFunc():
            return _of_aggregate(node, columns)
        case exp.Lower() | exp.Upper() | exp.Trim() | exp.Length() if _is_plain(node):
            gives = _INTEGER if isinstance(node, exp.Length) else _TEXT
            return _all({_TEXT, _NULL}, [node.this], columns, gives)
    return _of_truth(node, columns) or _of_floats(node, columns)


def _of_truth(node: exp.Expr, columns: Schema) -> str:
    match node:
        case exp.And() | exp.Or():
            return _all({_BOOLEAN, _NULL}, [node.left, node.right], columns, _BOOLEAN)
        case exp.Not():
            return _all({_BOOLEAN, _NULL}, [node.this], columns, _BOOLEAN)
        case exp.Is():
            return _BOOLEAN if _kind(node.this, columns) else ""
        case exp.Between():
            return _compared([node.this, node.args["low"], node.args["high"]], columns)
        case exp.In() if not node.args.get("query") and not node.args.get("unnest"):
            return _compared([node.this, *node.expressions], columns)
        case exp.Like() | exp.ILike():
            pattern = node.args.get("expression")
            is_plain = isinstance(pattern, exp.Literal) and "\\" not in str(pattern.this)
            return _all({_TEXT, _NULL}, [node.this], columns, _BOOLEAN) if is_plain else ""
    return _compared([node.left, node.right], columns) if isinstance(node, _COMPARISONS) else ""


def _of_column(node: exp.Column, columns: Schema) -> str:
    found = columns.find(node.name) if len(node.parts) == 1 else None
    if found is None:
        return ""
    kind = found.type
    if kind in literals.INTEGERS:
        return _INTEGER
    if literals.is_exact(kind):
        whole, scale = literals.decimal_of(kind)
        return _DECIMAL if whole <= _WHOLE and scale <= _SCALE else ""
    if kind in literals.FLOATS:
        return _FLOAT
    if is_text(kind):  # texts of two collations are not compared
        return _OTHER if " collate " in kind else _TEXT
    return kind if kind in literals.TIMES or kind == _BOOLEAN else _OTHER


def _of_literal(node: exp.Literal) -> str:
    if node.is_string:
        return _TEXT
    if "e" in str(node.this).lower():
        return _FLOAT
    if len(str(node.this)) > _SCALE:
        return ""
    return _DECIMAL if "." in str(node.this) else _INTEGER


def _of_aggregate(node: exp.Expr, columns: Schema) -> str:
    if node.find(exp.Distinct) is not None or not _is_plain(node):
        return ""
    if isinstance(node, exp.Count):
        is_known = isinstance(node.this, exp.Star) or _kind(node.this, columns)
        return _INTEGER if is_known else ""
    kind = _kind(node.this, columns)
    match node:
        case exp.Min() | exp.Max():
            return kind if kind not in {_OTHER, _NULL} else ""
        case exp.CountIf():
            return _INTEGER if kind == _BOOLEAN else ""
        case exp.Sum():
            return kind if kind in _NUMBERS else ""
    return _FLOAT if isinstance(node, _MEANS) and kind in {_INTEGER, _FLOAT} else ""


def _of_floats(node: exp.Expr, columns: Schema) -> str:
    """Return floating point for operations without overflow: `a * 2.5e0`, `a / 2`."""
    match node:
        case exp.Abs():
            return _all({_FLOAT}, [node.this], columns, _FLOAT)
        case exp.Div(expression=exp.Literal() as by) if not by.is_string and float(by.this) != 0:
            return _all({_INTEGER, _FLOAT}, [node.left], columns, _FLOAT)
        case exp.Add() | exp.Sub() | exp.Mul():
            kinds = {_kind(node.left, columns), _kind(node.right, columns)}
            return _FLOAT if _FLOAT in kinds and kinds <= _NUMBERS else ""
    return ""


def _compared(sides: Iterable[exp.Expr], columns: Schema) -> str:
    """Return a boolean if neither side must be converted to another type first."""
    nodes = list(sides)
    kinds = {_kind(each, columns) for each in nodes} - {_NULL}
    if not kinds or "" in kinds or _OTHER in kinds:
        return ""
    texts_are_times = all(
        calendar.instant(str(each.this)) is not None
        for each in nodes
        if isinstance(each, exp.Literal) and each.is_string
    )
    has_time = bool(kinds & literals.TIMES)
    texts = [each for each in nodes if _kind(each, columns) == _TEXT]
    if has_time and texts_are_times and all(isinstance(e, exp.Literal) for e in texts):
        kinds -= {_TEXT}
    alike = len(kinds) == 1 or kinds <= _NUMBERS or kinds <= literals.TIMES
    return _BOOLEAN if alike else ""


def _all(allowed: set[str], nodes: Iterable[exp.Expr], columns: Schema, gives: str) -> str:
    return gives if all(_kind(each, columns) in allowed for each in nodes) else ""


def _is_plain(node: exp.Expr) -> bool:
    return not any(value for name, value in node.args.items() if name not in {"this", "big_int"})
