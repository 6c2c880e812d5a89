"""The use case `sessions rebuild`: sessions of some days, or named ones, from all their events."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields, replace

from penstock.app.commands.run import run
from penstock.app.events import Listener, silent
from penstock.app.execution.recover import recover
from penstock.app.planning.packages import named_package
from penstock.app.read_requests import RebuildRun, RebuildSessionsRequest
from penstock.app.request import StepsRequest
from penstock.app.run_report import RunReport
from penstock.app.services.services import Services
from penstock.core.errors import UsageError
from penstock.core.findings import some
from penstock.core.sessions.manifest import LogVersion, RebuildRequest
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionPackage
from penstock.plan.kinds.manifest import pending_rebuild

_ID = "session_identifier"


def sessions_rebuild(
    services: Services, request: RebuildSessionsRequest, listener: Listener = silent
) -> RunReport:
    """Build sessions again from all their events, in one pass that a later run continues.

    Raises `unknown-session` for a name without a session, and `rebuild-pending` while another
    rebuild has not ended.
    """
    package = named_package(services.project, request.package)
    settled = recover(services)
    pending = pending_rebuild(services.reading.sessions.passes(package.name))
    asked = _sessions_asked(services, package, request)
    if pending is not None and asked is None:
        asked = pending
    if asked is None:
        sentence, hint = "no sessions are named", "add --from DATE --to DATE, or --session ID"
        raise UsageError("bad-usage", sentence, hint=hint)
    if pending is not None and pending != asked:
        sentence = f"a rebuild of {pending} has begun and not ended"
        hint = f"finish it first: penstock sessions rebuild {package.name}"
        raise UsageError("rebuild-pending", sentence, hint=hint)
    if pending is None:
        asked = replace(asked, before=_versions_now(services, package))
    taken = {each.name: getattr(request, each.name) for each in fields(StepsRequest)}
    whole = RebuildRun(**taken, select=(package.name,), rebuild=pending or asked)
    report = run(services, whole, listener)
    return replace(report, notes=(*settled.messages_by_step, *report.notes))


def _sessions_asked(
    services: Services, package: SessionPackage, request: RebuildSessionsRequest
) -> RebuildRequest | None:
    """Return which sessions are meant, None if none are named."""
    if request.session:
        named = tuple(dict.fromkeys(request.session))
        model = package.model(SessionTable.LIFECYCLE)
        uri = services.project.uri_of(model.table) if model else ""
        missing = [*named]
        if model:
            there = services.kept_rows.present(uri, _ID, named)
            missing = [each for each in named if each not in there]
        if missing:
            sentence = f"no session {some([repr(each) for each in missing], 5)} in {package.name}"
            hint = "--from DATE --to DATE finds sessions by their days"
            raise UsageError("unknown-session", sentence, hint=hint)
        return RebuildRequest(sessions=named)
    if not request.from_ and not request.to:
        return None
    first, last = _day(request.from_, "--from"), _day(request.to, "--to")
    if last < first:
        sentence = f"--from {first} is after --to {last}"
        raise UsageError("bad-value", sentence, hint="swap --from and --to")
    return RebuildRequest(first, last)


def _day(text: str | None, flag: str) -> dt.date:
    if not text:
        raise UsageError("bad-usage", f"{flag} is missing", hint="name both ends of the range")
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        sentence = f"{flag} {text!r} is not a day"
        raise UsageError("bad-value", sentence, hint="write it as 2024-03-01") from None


def _versions_now(services: Services, package: SessionPackage) -> dict[str, LogVersion]:
    """Return the versions of what a package knows of sessions and users."""
    found = {}
    for part in (SessionTable.LIFECYCLE, SessionTable.USER_MAPPING):
        model = package.model(part)
        facts = services.log.facts(services.project.uri_of(model.table)) if model else None
        if facts is not None:
            found[str(part)] = LogVersion(facts.table_id, facts.version)
    return found
