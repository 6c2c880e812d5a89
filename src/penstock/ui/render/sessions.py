"""What the commands of `sessions` print."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from penstock.app import documents
from penstock.app.commands.sessions import (
    LimitsReport,
    ManifestReport,
    QuarantineReport,
    SessionRunsReport,
)
from penstock.app.documents import LIMITS, Json, document_of
from penstock.core.ports.sessions import SessionPass
from penstock.core.sessions.manifest import (
    EventCounts,
    PassKind,
    instant_text,
    limit_lines,
)
from penstock.ui.render.values import aligned, count, table

_ROW = "model last_success covered_to advanced_to fingerprint run updated_at"
_COUNTED = (
    "read filtered null_device late null_session quarantined before_start beyond_cap duplicate kept"
)
_RUN = (
    f"seq run {LIMITS} now status caught_up future_events "
    f"greatest=events.greatest later_events=events.later_events window=events.window[{_COUNTED}] "
    f"history=events.history[{_COUNTED}] events_behind=events.behind started ended"
)
_QUARANTINED = "session since reason run start_tstamp events_dropped dropped_to"
_PLACES = tuple(_COUNTED.split())


def limits_text(report: LimitsReport) -> str:
    """Return two lines per pass, and a third for one that has nothing to do."""
    plan = report.plan
    name = "Snowplow" if plan.package.options.is_snowplow else report.package
    lines = [line for each in plan.limits for line in limit_lines(name, each)]
    return "\n".join(f"{report.now:%H:%M:%S} + {line}" for line in lines)


def limits_document(report: LimitsReport) -> Json:
    """Return every pass with its limits, and where the tracked models stand."""
    plan = report.plan
    return documents.limits_document(report.package, plan.limits, len(plan.tracked))


def manifest_text(report: ManifestReport) -> str:
    """Return one row per model."""
    header = ["model", "last_success", "covered_to", "advanced_to"]
    rows = [
        [row.model, *map(instant_text, (row.last_success, row.covered_to, row.advanced_to))]
        for row in report.rows
    ]
    return aligned([header, *rows], [False] * len(header)) if rows else "no model has a row yet"


def manifest_document(report: ManifestReport) -> Json:
    """Return the rows, and which models are tracked."""
    rows = [document_of(row, _ROW) for row in report.rows]
    return {"package": report.package, "tracked": list(report.tracked), "rows": rows}


def quarantine_text(report: QuarantineReport) -> str:
    """Return the newest sessions, then how many there are."""
    header = ["session", "since", "reason", "start", "dropped", "dropped to"]
    rows = [
        [
            each.session,
            instant_text(each.since),
            each.reason,
            instant_text(each.start_tstamp),
            f"{each.events_dropped:,}",
            instant_text(each.dropped_to),
        ]
        for each in report.sessions
    ]
    counted = count(report.total, "session")
    return f"{table(header, rows, right=['dropped'])}\n\n{counted}" if rows else counted


quarantine_document = partial(document_of, names=f"package sessions[{_QUARANTINED}] total")


def runs_text(report: SessionRunsReport) -> str:
    """Return the passes, newest first, with what became of their events."""
    return "\n".join(map(_run_text, report.passes)) or "no run yet"


def _run_text(one: SessionPass) -> str:
    limits = one.limits
    kind = "" if one.kind is PassKind.PACKAGE else f"  {one.kind}"
    span = f"{instant_text(limits.lower_limit)} to {instant_text(limits.upper_limit)}"
    line = f"seq {one.seq}{kind}  state {limits.state:d}  {span}"
    if one.started and one.ended:
        line += f"  {round((one.ended - one.started).total_seconds())}s"
    line += f"  {'caught up' if one.caught_up else str(one.status).lower()}"
    if one.events is None:
        return line
    scopes = (("window", one.events.window), ("history", one.events.history))
    counted = [[f"  {name}", *_counts(found, every=name == "window")] for name, found in scopes]
    return "\n".join([line, *("  ".join(each).rstrip() for each in counted)])


def _counts(found: EventCounts, *, every: bool) -> Iterator[str]:
    """Name what was read and kept, then the other classes; of history those that have any."""
    rest = (name for name in _PLACES if name not in ("read", "kept"))
    for name in ("read", "kept", *rest):
        number = getattr(found, name)
        if every or number or name in ("read", "kept"):
            yield f"{name} {number:,}"


def runs_document(report: SessionRunsReport) -> Json:
    """Return one object per pass, newest first."""
    return document_of(report, f"package passes[{_RUN}]")
