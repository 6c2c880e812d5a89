"""What a command is asked: one class per command, and everything there is to say of a flag.

A field is the flag: its name, type, default and help stand here and nowhere else. `ui` makes the
options of the command line from these fields, `app.entry` the keywords of `penstock.run` and its
kind (see `flags`).
"""

from penstock.app.request.questions import (
    AuditRequest,
    CheckRequest,
    DiffRequest,
    HistoryRequest,
    ModelsRequest,
    ProjectRequest,
    StatusRequest,
    UnitTestRequest,
    VerifyRequest,
)
from penstock.app.request.shared import BOTH, CommandRequest, Range, WorkRequest
from penstock.app.request.work import (
    AnyRun,
    AnySync,
    BackfillRequest,
    RollbackRequest,
    RunRequest,
    SnapshotRequest,
    StepsRequest,
    SyncRequest,
)

__all__ = [
    "BOTH",
    "AnyRun",
    "AnySync",
    "AuditRequest",
    "BackfillRequest",
    "CheckRequest",
    "CommandRequest",
    "DiffRequest",
    "HistoryRequest",
    "ModelsRequest",
    "ProjectRequest",
    "Range",
    "RollbackRequest",
    "RunRequest",
    "SnapshotRequest",
    "StatusRequest",
    "StepsRequest",
    "SyncRequest",
    "UnitTestRequest",
    "VerifyRequest",
    "WorkRequest",
]
