"""Checks of type `sql`: a query that must give no row, once per group where groups differ."""

from __future__ import annotations

import time

from penstock.app.checking.asking import AT_ONCE, fetched
from penstock.app.checking.chosen import skipped
from penstock.app.checking.ground import Ground
from penstock.app.checking.judging import group_value
from penstock.app.checking.placing import Skip, bound_text, missing, own_groups
from penstock.app.checking.refusing import Refusal
from penstock.app.checking.telling import told, told_refused
from penstock.core.check_results import CheckResult
from penstock.core.checks import Check, SqlCheck
from penstock.core.engine_ports import QuerySession
from penstock.core.errors import DataError, QueryError
from penstock.core.query import bound
from penstock.core.statement import Row
from penstock.strategies.checks.phase import GROUP
from penstock.strategies.checks.samples import sample_of
from penstock.strategies.checks.sql_check import group_query, united, verdict


def evaluate_sql(
    session: QuerySession, check: Check, rule: SqlCheck, ground: Ground
) -> CheckResult:
    """Run the query of every group, at most fifty by one statement."""
    started = time.monotonic()
    match missing(check, ground):
        case Skip(reason):
            return skipped([check], reason)[0]
        case Refusal() as refusal:
            return told_refused(check, ground, refusal)
    groups = own_groups(check, ground)
    text = bound(rule.query.text, ground.views)
    queries = [bound_text(text, ground, group.number) for group in groups]
    try:
        columns = session.describe(queries[0])
    except (QueryError, DataError) as error:
        return told_refused(check, ground, Refusal.of(error, check))
    shown = columns if check.sample else None
    asked = [group_query(sql, group.key, shown) for sql, group in zip(queries, groups, strict=True)]
    rows: dict[str, list[Row]] = {group.key: [] for group in groups}
    for first in range(0, len(asked), AT_ONCE):
        found = fetched(session, united(asked[first : first + AT_ONCE]))
        if not isinstance(found, tuple):
            return told_refused(check, ground, Refusal.of(found, check, ran=True))
        for row in found:
            rows[str(row[GROUP])].append(row)
    values = [group_value(group, {}, verdict(len(rows[group.key]))) for group in groups]
    failing = [row for value in values for row in rows[value.group]]
    sample = sample_of(failing, columns) if failing and check.sample else None
    return told(check, ground, values, seconds=round(time.monotonic() - started, 3), sample=sample)
