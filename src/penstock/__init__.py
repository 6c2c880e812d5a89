"""Builds Delta tables on Spark and knows which no longer match their code and inputs.

The names below load on first use, so that `import penstock` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.app.checking.results import CheckReport
    from penstock.app.commands.verify import VerifyReport
    from penstock.app.entry import (
        audit,
        backfill,
        check,
        diff,
        history,
        load,
        rollback,
        run,
        snapshot_run,
        snapshot_verify,
        status,
        sync,
    )
    from penstock.app.reports import (
        AuditReport,
        DiffReport,
        HistoryReport,
        ModelResult,
        RunReport,
        StatusReport,
    )
    from penstock.core.check_results import CheckResult, InvariantReport
    from penstock.core.errors import CheckFailedError, PenstockError, ProjectError
    from penstock.strategies.history.verify import Violation

_HOMES = {
    "check": "penstock.app.entry",
    "CheckReport": "penstock.app.checking.results",
    "audit": "penstock.app.entry",
    "backfill": "penstock.app.entry",
    "diff": "penstock.app.entry",
    "history": "penstock.app.entry",
    "rollback": "penstock.app.entry",
    "sync": "penstock.app.entry",
    "AuditReport": "penstock.app.reports",
    "DiffReport": "penstock.app.reports",
    "HistoryReport": "penstock.app.reports",
    "StatusReport": "penstock.app.reports",
    "load": "penstock.app.entry",
    "run": "penstock.app.entry",
    "snapshot_run": "penstock.app.entry",
    "snapshot_verify": "penstock.app.entry",
    "status": "penstock.app.entry",
    "ModelResult": "penstock.app.reports",
    "RunReport": "penstock.app.reports",
    "VerifyReport": "penstock.app.commands.verify",
    "Violation": "penstock.app.commands.verify",
    "CheckResult": "penstock.core.check_results",
    "InvariantReport": "penstock.core.check_results",
    "CheckFailedError": "penstock.core.errors",
    "PenstockError": "penstock.core.errors",
    "ProjectError": "penstock.core.errors",
}

__all__ = [
    "AuditReport",
    "CheckFailedError",
    "CheckReport",
    "CheckResult",
    "DiffReport",
    "HistoryReport",
    "InvariantReport",
    "ModelResult",
    "PenstockError",
    "ProjectError",
    "RunReport",
    "StatusReport",
    "VerifyReport",
    "Violation",
    "audit",
    "backfill",
    "check",
    "diff",
    "history",
    "load",
    "rollback",
    "run",
    "snapshot_run",
    "snapshot_verify",
    "status",
    "sync",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
