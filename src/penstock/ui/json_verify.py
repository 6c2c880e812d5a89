"""The documents of `snapshot verify` and `snapshot migrate`."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.app.commands.migrate import MigrateReport
from penstock.app.commands.verify import VerifyReport
from penstock.ui.json_document import Json


def verify_document(reports: Sequence[VerifyReport]) -> Json:
    """Give the laws that each table breaks, with samples."""
    return {"ok": all(report.ok for report in reports), "models": [*map(_verified, reports)]}


def _verified(report: VerifyReport) -> Json:
    return {
        "model": report.model,
        "ok": report.ok,
        "version": report.version,
        "versions": report.versions,
        "keys": report.keys,
        "current": report.current,
        "gaps": report.gaps,
        "violations": [
            {
                "law": each.law,
                "title": each.title,
                "count": each.count,
                "of": each.of,
                "samples": each.samples,
            }
            for each in report.violations
        ],
    }


def migrate_document(report: MigrateReport) -> Json:
    """Give what differed, and what the next run will count."""
    return {
        "model": report.model,
        "version": report.version,
        "dry_run": report.dry_run,
        "adopted": report.adopted,
        "rehashed": report.rehashed,
        "changes": report.changes,
        "opens": report.opens,
        "closes": report.closes,
        "metrics": dict(report.metrics),
    }
