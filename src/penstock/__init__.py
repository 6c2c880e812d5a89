"""Builds Delta tables on Spark and reports which tables no longer match their code and inputs.

The names below are imported on first use, so `import penstock` stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.app.application import App as App
    from penstock.app.checking.results import CheckReport as CheckReport
    from penstock.app.commands.data_diff import DataDiff as DataDiff
    from penstock.app.commands.verify import VerifyReport as VerifyReport
    from penstock.app.commands.verify import Violation as Violation
    from penstock.app.entry import accept as accept
    from penstock.app.entry import audit as audit
    from penstock.app.entry import backfill as backfill
    from penstock.app.entry import check as check
    from penstock.app.entry import diff as diff
    from penstock.app.entry import diff_data as diff_data
    from penstock.app.entry import docs_generate as docs_generate
    from penstock.app.entry import history as history
    from penstock.app.entry import load as load
    from penstock.app.entry import query as query
    from penstock.app.entry import rollback as rollback
    from penstock.app.entry import run as run
    from penstock.app.entry import sessions_limits as sessions_limits
    from penstock.app.entry import snapshot_backfill as snapshot_backfill
    from penstock.app.entry import snapshot_run as snapshot_run
    from penstock.app.entry import snapshot_verify as snapshot_verify
    from penstock.app.entry import status as status
    from penstock.app.entry import sync as sync
    from penstock.app.metadata import Connection as Connection
    from penstock.app.metadata import EntityConnectionGroup as EntityConnectionGroup
    from penstock.app.metadata import EntityGroup as EntityGroup
    from penstock.app.metadata import EntityMetadata
    from penstock.app.metadata import Environment as Environment
    from penstock.app.metadata import JsonFolderMetadataSettings as JsonFolderMetadataSettings
    from penstock.app.metadata import JsonMetadataSettings as JsonMetadataSettings
    from penstock.app.metadata import StringMetadataSettings as StringMetadataSettings
    from penstock.app.metadata import WatermarkValue as WatermarkValue
    from penstock.app.processing import Processing as Processing
    from penstock.app.processing import ProcessingSummary as ProcessingSummary
    from penstock.app.reports import AuditReport as AuditReport
    from penstock.app.reports import DiffReport as DiffReport
    from penstock.app.reports import HistoryReport as HistoryReport
    from penstock.app.reports import ModelResult as ModelResult
    from penstock.app.reports import StatusReport as StatusReport
    from penstock.app.run_report import RunReport as RunReport
    from penstock.core.check_results import CheckResult as CheckResult
    from penstock.core.check_results import InvariantReport as InvariantReport
    from penstock.core.entities.entity import ProcessType
    from penstock.core.errors import CheckFailedError as CheckFailedError
    from penstock.core.errors import ConnectionNotFoundError as ConnectionNotFoundError
    from penstock.core.errors import DuplicateKeysError as DuplicateKeysError
    from penstock.core.errors import EntityNotFoundError as EntityNotFoundError
    from penstock.core.errors import PenstockError as PenstockError
    from penstock.core.errors import (
        ProcessStrategyNotSupportedError as ProcessStrategyNotSupportedError,
    )
    from penstock.core.errors import ProjectError as ProjectError
    from penstock.engine.function_windows import FunctionWindow
    from penstock.engine.function_windows import incremental_filter as incremental_filter
    from penstock.project.python.decorators import PACKAGE
    from penstock.project.python.parameters import param as param

    source, model, table = PACKAGE.source, PACKAGE.model, PACKAGE.table
    incremental_table = PACKAGE.incremental_table
    conf = App
    Metadata = EntityMetadata
    Window = FunctionWindow
    Full, Merge, Historic = ProcessType
    ConnectionNotFoundException = ConnectionNotFoundError
    DuplicateBusinesskeyException = DuplicateKeysError
    EntityNotFoundException = EntityNotFoundError
    ProcessStrategyNotSupportedException = ProcessStrategyNotSupportedError

_HOMES = {
    "penstock.app.application": "App conf=App",
    "penstock.app.checking.results": "CheckReport",
    "penstock.app.commands.data_diff": "DataDiff",
    "penstock.app.commands.verify": "VerifyReport Violation",
    "penstock.app.entry": """
        accept audit backfill check diff diff_data docs_generate history load query rollback run
        sessions_limits snapshot_backfill snapshot_run snapshot_verify status sync
    """,
    "penstock.app.metadata": """
        Connection EntityConnectionGroup EntityGroup Environment Full=FULL
        Historic=HISTORIC JsonFolderMetadataSettings JsonMetadataSettings Merge=MERGE
        Metadata=EntityMetadata StringMetadataSettings WatermarkValue
    """,
    "penstock.app.processing": "Processing ProcessingSummary",
    "penstock.app.reports": "AuditReport DiffReport HistoryReport ModelResult StatusReport",
    "penstock.app.run_report": "RunReport",
    "penstock.core.check_results": "CheckResult InvariantReport",
    "penstock.core.errors": """
        CheckFailedError ConnectionNotFoundError
        ConnectionNotFoundException=ConnectionNotFoundError
        DuplicateBusinesskeyException=DuplicateKeysError DuplicateKeysError
        EntityNotFoundError EntityNotFoundException=EntityNotFoundError PenstockError
        ProcessStrategyNotSupportedError
        ProcessStrategyNotSupportedException=ProcessStrategyNotSupportedError ProjectError
    """,
    "penstock.engine.function_windows": "Window=FunctionWindow incremental_filter",
    "penstock.project.python.decorators": "incremental_table model source table",
    "penstock.project.python.parameters": "param",
}
_PLACES = {
    outside: (home, inside or outside)
    for home, names in _HOMES.items()
    for outside, _, inside in (name.partition("=") for name in names.split())
}
"""The module of each public name, and the name there."""
__all__ = tuple(_PLACES)


def _runner_of(file: Path) -> object:
    """Return the app for the functions of a file that uses the package's own decorators."""
    from penstock.app.application import runner_of

    return runner_of(file)


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    home, inside = _PLACES[name]
    module = import_module(home)
    if home.endswith(".decorators"):
        module.PACKAGE.runner = _runner_of
        return getattr(module.PACKAGE, name)
    return getattr(module, inside)
