"""What a session package did last, would do next, and holds back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import suppress

from penstock.app.commands.sessions import sessions_quarantine
from penstock.app.planning.packages import plan_package
from penstock.app.site.model_documents import PackagePart
from penstock.app.site.reading import SiteInputs, utc
from penstock.core.errors import PenstockError

_SHOWN_SESSIONS = 50


def package_parts(inputs: SiteInputs, package: str) -> tuple[PackagePart, ...]:
    """Return the facts of a package; those that cannot be read are left out."""
    found: list[PackagePart] = []
    for part in (_next_run, _last_run, _manifest, _quarantine):
        with suppress(PenstockError, OSError):
            found += part(inputs, package)
    return tuple(found)


def _next_run(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    planned = plan_package(
        inputs.services, inputs.project.packages[package], inputs.state.run_timestamp
    )
    for each in planned.limits:
        limits = each.limits
        words = each.idle or f"{limits.state.name.lower()}, {len(each.models)} models"
        yield PackagePart("Next run", str(each.kind), words)
        if not each.idle:
            yield PackagePart("Next run", "events", _span(limits.lower_limit, limits.upper_limit))


def _last_run(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    for each in inputs.services.reading.sessions.passes(package, 1):
        yield PackagePart("Last run", str(each.kind), str(each.status).lower())
        limits = each.limits
        yield PackagePart("Last run", "events", _span(limits.lower_limit, limits.upper_limit))
        yield PackagePart("Last run", "ended", utc(each.ended))
        if each.events is not None:
            counts = each.events.window
            yield PackagePart("Last run", "read", f"{counts.read:,}")
            yield PackagePart("Last run", "kept", f"{counts.kept:,}")


def _manifest(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    for row in inputs.services.reading.sessions.manifest(package):
        words = f"last event {utc(row.last_success)}" if row.last_success else "no event yet"
        covered = f", covered to {utc(row.covered_to)}" if row.covered_to else ""
        yield PackagePart("Manifest", row.model, f"{words}{covered}")


def _quarantine(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    report = sessions_quarantine(inputs.services, package, _SHOWN_SESSIONS)
    yield PackagePart("Quarantine", "sessions", f"{report.total:,}")
    for each in report.sessions:
        words = f"{each.reason}, since {utc(each.since)}, {each.events_dropped:,} events dropped"
        yield PackagePart("Quarantine", each.session, words)


def _span(first: dt.datetime, last: dt.datetime) -> str:
    return f"{utc(first)} to {utc(last)}"
