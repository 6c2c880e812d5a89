"""How old the newest rows of declared sources are: `penstock check --sources`."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.ground import Ground, Rows
from penstock.app.checking.history import SOURCE
from penstock.app.checking.reports import SourceChecked
from penstock.app.inputs import source_read
from penstock.app.observe import View, pin_source
from penstock.app.request import CheckRequest
from penstock.app.shop import Shop
from penstock.core.check_results import WHOLE_GROUP, CheckResult, CheckStatus, InvariantReport
from penstock.core.checks import Check, Freshness, Phase
from penstock.core.engine_ports import StepSession
from penstock.core.errors import UsageError
from penstock.core.findings import Severity
from penstock.core.model import Source
from penstock.core.names import quoted
from penstock.core.relation import Read, Relation
from penstock.project.checks.definition import definition_of
from penstock.strategies.checks.written import age


def check_sources(
    shop: Shop, request: CheckRequest, moment: dt.datetime
) -> tuple[SourceChecked, ...]:
    """Compare the newest value of each source with what it may be at most, and record it.

    Records name a source as selectors do, `source:raw.events`. Raises `unknown-source` for a
    selected name that no source with `freshness` has.
    """
    found = {
        name: source
        for name, source in sorted(shop.project.sources.items())
        if source.freshness is not None
    }
    for name in request.select:
        if name.removeprefix(SOURCE) not in found:
            known = ", ".join(found) or "none"
            raise UsageError(
                "unknown-source",
                f"no source with freshness is called {name!r}",
                hint=f"sources with freshness: {known}",
            )
    chosen = {name.removeprefix(SOURCE) for name in request.select} or set(found)
    if not chosen:
        return ()
    shop.engine.require()
    run = shop.run_id or shop.clock.new_id()
    told = []
    for name in sorted(chosen):
        view = View.empty(moment)
        pin = pin_source(shop, found[name], view.listings)
        read = source_read(shop.project, found[name].input_name, pin, view)
        with shop.engine.session(name, found[name].where) as session:
            result = _told(session, found[name], read, moment)
        told.append(SourceChecked(name, result))
        if request.record:
            report = InvariantReport((result,))
            shop.writing.journal.note_checks(run, f"{SOURCE}{name}", report, (WHOLE_GROUP,), None)
    return tuple(told)


def _told(session: StepSession, source: Source, read: Read, moment: dt.datetime) -> CheckResult:
    """Give the gravest of what fails, or that the source is fresh."""
    name = source.input_name
    columns = session.bind([Relation(name, "check_source", read)])["check_source"]
    rows = Rows(f"SELECT * FROM {quoted('check_source')}", columns)
    results = evaluate(session, freshness_checks(source), Ground(moment, inputs={name: rows}))
    failed = [result for result in results if result.status is CheckStatus.FAILED]
    return failed[0] if failed else results[-1]


def freshness_checks(source: Source) -> tuple[Check, ...]:
    """Give a gate for `error_after` and a warning for `warn_after`."""
    freshness = source.freshness
    if freshness is None:
        return ()
    limits = (
        (freshness.error_after, Severity.ERROR),
        (freshness.warn_after, Severity.WARNING),
    )
    checks = (
        Check(
            name=f"freshness_{freshness.column}",
            phase=Phase.BEFORE,
            rule=Freshness(freshness.column, limit, age(limit // dt.timedelta(microseconds=1))),
            where=source.where,
            severity=severity,
            input=source.input_name,
        )
        for limit, severity in limits
        if limit is not None
    )
    return tuple(replace(each, definition=definition_of(each)) for each in checks)
