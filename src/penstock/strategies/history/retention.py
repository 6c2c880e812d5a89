"""Retention: which versions a run removes, after and together with its update."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.core.history import Retention
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW
from penstock.strategies.build import listed
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.terms import Terms
from penstock.strategies.history.words import OLD, TWICE


def goes(retention: Retention, rank: str, closed_long_ago: str = "true") -> str:
    """Give the condition of a version being removed; `rank` 1 is the newest of its key and stays.

    >>> goes(Retention(keep_last=3), "r")
    '(r > 1 AND r > 3)'
    """
    marks = [f"{rank} > 1"]
    if retention.keep_last is not None:
        marks.append(f"{rank} > {retention.keep_last}")
    if retention.keep_days is not None:
        marks.append(closed_long_ago)
    return "(" + " AND ".join(dict.fromkeys(marks)) + ")"


def horizon(terms: Terms) -> str:
    """Give the instant at or before which a version must have been closed to be old."""
    days = terms.retention.keep_days if terms.retention else None
    return replace(terms, moment=terms.moment - dt.timedelta(days=days or 0)).at


def candidates(sides: Sides) -> str:
    """Give per key the versions that this run may remove, with their ranks before it.

    Of closed versions only key and interval are read. What opens in this run moves every rank by
    one, so a version of rank N is a candidate where N are kept. One that starts with the version
    before it cannot be told from that.
    """
    terms, retention = sides.terms, sides.terms.retention
    if retention is None:
        raise ValueError("no retention")
    valid_from, valid_to = quoted(terms.columns.valid_from), quoted(terms.columns.valid_to)
    keys = listed(terms.keys)
    window = f"OVER (PARTITION BY {keys} ORDER BY {valid_from} DESC)"
    ranked = (
        f"SELECT {keys}, {valid_from} AS at, {valid_to} AS until, row_number() {window} AS rank, "
        f"coalesce(lag({valid_from}) {window} = {valid_from}, false) AS twin "
        f"FROM {quoted(TARGET_VIEW)}"
    )
    marks = [f"rank >= {retention.keep_last or 1}"]
    if retention.keep_days is not None:
        marks.append(f"until <= {horizon(terms)}")
    return (
        f"SELECT {keys}, collect_list(struct(at, rank)) AS {OLD}, bool_or(twin) AS {TWICE} "
        f"FROM ({ranked}) "
        f"WHERE {' AND '.join(marks)} GROUP BY {keys}"
    )
