"""Prints a parsed query without the liberties that a translation between dialects may take.

Spark's own generator leaves out what it holds to be a default, and writes some functions as others
that mean nearly the same. A canonical form may not: an edit there would not be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import groupconcat_sql
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel

if TYPE_CHECKING:
    from sqlglot.generator import Generator


def print_query(tree: exp.Query) -> str:
    """Print on one line, every name quoted; raises `UnsupportedError` where Spark has no word."""
    printer = _Printer(
        dialect=Spark(), identify=True, comments=False, unsupported_level=ErrorLevel.RAISE
    )
    printed: str = printer.generate(tree, copy=False)
    return printed


def _to_date(printer: Generator, node: exp.TsOrDsToDate) -> str:
    if node.args.get("format"):
        return printer.func("TO_DATE", node.this, printer.format_time(node))
    printed: str = Spark.Generator.TRANSFORMS[exp.TsOrDsToDate](printer, node)
    return printed


def _list_agg(printer: Generator, node: exp.GroupConcat) -> str:
    return groupconcat_sql(printer, node, sep=None)


def _within_group(printer: Generator, node: exp.WithinGroup) -> str:
    return printer.withingroup_sql(node)


class _Printer(Spark.Generator):  # type: ignore[misc,valid-type]  # an attribute, to mypy
    PARSE_JSON_NAME = "PARSE_JSON"
    TRANSFORMS: ClassVar[Mapping[type[exp.Expr], Callable[..., str]]] = {
        **Spark.Generator.TRANSFORMS,
        exp.GroupConcat: _list_agg,
        exp.TsOrDsToDate: _to_date,
        exp.WithinGroup: _within_group,
    }
