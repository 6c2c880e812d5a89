"""Builds Delta tables on Spark and knows which no longer match their code and inputs.

The names below load on first use, so that `import penstock` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.app.application import App
    from penstock.app.application import App as conf  # noqa: N813  what scripts call
    from penstock.app.checking.results import CheckReport
    from penstock.app.commands.verify import VerifyReport
    from penstock.app.entry import (
        accept,
        audit,
        backfill,
        check,
        diff,
        history,
        load,
        query,
        rollback,
        run,
        sessions_limits,
        snapshot_run,
        snapshot_verify,
        status,
        sync,
    )
    from penstock.app.metadata import FULL as Full  # noqa: N811  what scripts call it
    from penstock.app.metadata import HISTORIC as Historic  # noqa: N811
    from penstock.app.metadata import MERGE as Merge  # noqa: N811
    from penstock.app.metadata import (
        Connection,
        EntityConnectionGroup,
        EntityGroup,
        Environment,
        JsonFolderMetadataSettings,
        JsonMetadataSettings,
        StringMetadataSettings,
        WatermarkValue,
    )
    from penstock.app.metadata import EntityMetadata as Metadata
    from penstock.app.processing import Processing, ProcessingSummary
    from penstock.app.reports import (
        AuditReport,
        DiffReport,
        HistoryReport,
        ModelResult,
        StatusReport,
    )
    from penstock.app.run_report import RunReport
    from penstock.core.check_results import CheckResult, InvariantReport
    from penstock.core.errors import (
        CheckFailedError,
        ConnectionNotFoundError,
        DuplicateKeysError,
        EntityNotFoundError,
        PenstockError,
        ProcessStrategyNotSupportedError,
        ProjectError,
    )
    from penstock.engine.function_windows import FunctionWindow as Window
    from penstock.engine.function_windows import incremental_filter
    from penstock.project.python.declare import PACKAGE
    from penstock.strategies.history.verify import Violation

    source, model, table = PACKAGE.source, PACKAGE.model, PACKAGE.table
    incremental_table = PACKAGE.incremental_table
    ConnectionNotFoundException = ConnectionNotFoundError
    DuplicateBusinesskeyException = DuplicateKeysError
    EntityNotFoundException = EntityNotFoundError
    ProcessStrategyNotSupportedException = ProcessStrategyNotSupportedError

_DECORATORS = ("source", "model", "table", "incremental_table")
_INSIDE = {
    "conf": "App",
    "Window": "FunctionWindow",
    "Metadata": "EntityMetadata",
    "Full": "FULL",
    "Merge": "MERGE",
    "Historic": "HISTORIC",
    "ConnectionNotFoundException": "ConnectionNotFoundError",
    "DuplicateBusinesskeyException": "DuplicateKeysError",
    "EntityNotFoundException": "EntityNotFoundError",
    "ProcessStrategyNotSupportedException": "ProcessStrategyNotSupportedError",
}
"""The names inside of what is called otherwise outside."""
_HOMES = {
    "penstock.app.application": ("App", "conf"),
    "penstock.engine.function_windows": ("Window", "incremental_filter"),
    "penstock.app.checking.results": ("CheckReport",),
    "penstock.app.commands.verify": ("VerifyReport", "Violation"),
    "penstock.app.reports": (
        "AuditReport",
        "DiffReport",
        "HistoryReport",
        "ModelResult",
        "StatusReport",
    ),
    "penstock.app.metadata": (
        "Connection",
        "EntityConnectionGroup",
        "EntityGroup",
        "Environment",
        "Full",
        "Historic",
        "JsonFolderMetadataSettings",
        "JsonMetadataSettings",
        "Merge",
        "Metadata",
        "StringMetadataSettings",
        "WatermarkValue",
    ),
    "penstock.app.processing": ("Processing", "ProcessingSummary"),
    "penstock.app.run_report": ("RunReport",),
    "penstock.core.check_results": ("CheckResult", "InvariantReport"),
    "penstock.core.errors": (
        "CheckFailedError",
        "ConnectionNotFoundError",
        "ConnectionNotFoundException",
        "DuplicateBusinesskeyException",
        "DuplicateKeysError",
        "EntityNotFoundError",
        "EntityNotFoundException",
        "PenstockError",
        "ProcessStrategyNotSupportedError",
        "ProcessStrategyNotSupportedException",
        "ProjectError",
    ),
}
"""Where a name stands; all others are functions of `penstock.app.entry`."""

__all__ = [
    "App",
    "AuditReport",
    "CheckFailedError",
    "CheckReport",
    "CheckResult",
    "Connection",
    "ConnectionNotFoundError",
    "ConnectionNotFoundException",
    "DiffReport",
    "DuplicateBusinesskeyException",
    "DuplicateKeysError",
    "EntityConnectionGroup",
    "EntityGroup",
    "EntityNotFoundError",
    "EntityNotFoundException",
    "Environment",
    "Full",
    "Historic",
    "HistoryReport",
    "InvariantReport",
    "JsonFolderMetadataSettings",
    "JsonMetadataSettings",
    "Merge",
    "Metadata",
    "ModelResult",
    "PenstockError",
    "ProcessStrategyNotSupportedError",
    "ProcessStrategyNotSupportedException",
    "Processing",
    "ProcessingSummary",
    "ProjectError",
    "RunReport",
    "StatusReport",
    "StringMetadataSettings",
    "VerifyReport",
    "Violation",
    "WatermarkValue",
    "Window",
    "accept",
    "audit",
    "backfill",
    "check",
    "conf",
    "diff",
    "history",
    "incremental_filter",
    "incremental_table",
    "load",
    "model",
    "query",
    "rollback",
    "run",
    "sessions_limits",
    "snapshot_run",
    "snapshot_verify",
    "source",
    "status",
    "sync",
    "table",
]


def _runner_of(file: Path) -> object:
    """Give what runs the functions of a file that the package's own decorators decorated."""
    from penstock.app.application import runner_of

    return runner_of(file)


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    if name in _DECORATORS:
        package = import_module("penstock.project.python.declare").PACKAGE
        package.runner = _runner_of
        return getattr(package, name)
    homes = (home for home, names in _HOMES.items() if name in names)
    return getattr(import_module(next(homes, "penstock.app.entry")), _INSIDE.get(name, name))
