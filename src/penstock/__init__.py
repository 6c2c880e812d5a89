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
    "penstock.app.checking.results": ("CheckReport",),
    "penstock.app.commands.verify": ("VerifyReport", "Violation"),
    "penstock.app.reports": (
        "AuditReport",
        "DiffReport",
        "HistoryReport",
        "ModelResult",
        "RunReport",
        "StatusReport",
    ),
    "penstock.core.check_results": ("CheckResult", "InvariantReport"),
    "penstock.core.errors": ("CheckFailedError", "PenstockError", "ProjectError"),
}
"""Where a name stands; all others are functions of `penstock.app.entry`."""

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
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    homes = (home for home, names in _HOMES.items() if name in names)
    return getattr(import_module(next(homes, "penstock.app.entry")), name)
