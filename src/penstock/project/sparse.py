"""Output columns that are truncated to a unit of the calendar: most days have no such value."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

_UNITS: Mapping[str, str] = {
    "HOUR": "HOUR",
    "DAY": "DAY",
    "DD": "DAY",
    "WEEK": "WEEK",
    "MONTH": "MONTH",
    "MON": "MONTH",
    "MM": "MONTH",
    "YEAR": "YEAR",
    "YYYY": "YEAR",
    "YY": "YEAR",
}


def truncations(text: str) -> dict[str, str]:
    """Give the unit of every output column that is the truncation of a date or time.

    >>> truncations("select CAST(DATE_TRUNC('WEEK', date) AS DATE) AS week_start, 1 AS one")
    {'week_start': 'WEEK'}
    """
    try:
        tree = parse_one(text, dialect="spark")
    except SqlglotError:
        return {}
    if not isinstance(tree, exp.Query):
        return {}
    units = {str(item.alias_or_name): _unit(item.unalias()) for item in tree.selects}
    return {name: unit for name, unit in units.items() if unit}


def _unit(item: exp.Expr) -> str:
    while isinstance(item, exp.Cast | exp.TsOrDsToDate | exp.Paren | exp.Date):
        item = item.this
    if not isinstance(item, exp.DateTrunc | exp.TimestampTrunc):
        return ""
    return _UNITS.get(str(item.unit.name if item.unit else "").upper(), "")
