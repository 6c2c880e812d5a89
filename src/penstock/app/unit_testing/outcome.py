"""What one run of a test left behind: the step's results, its table, its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.reports import ModelResult
from penstock.app.services.services import Services
from penstock.core.check_results import CheckResult
from penstock.core.checks import Check
from penstock.core.errors import PenstockError
from penstock.core.model import Model
from penstock.core.steps.step import StepKind
from penstock.core.steps.token import read_intent
from penstock.core.steps.window import Watermark

_COUNTED = (StepKind.BUILD, StepKind.ROLLBACK)
COUNTS = ("inserted", "updated", "deleted", "written", "late")
"""The counts of every strategy; `late` is missing where the input's log cannot tell."""


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """A run of a test after it ended. `before` is the target's version before it, None: no table.

    `refused` is the error that kept anything from being planned.
    """

    services: Services
    model: Model
    before: int | None
    results: tuple[ModelResult, ...] = ()
    refused: PenstockError | None = None

    @property
    def uri(self) -> str:
        """The folder of the target."""
        return self.services.project.uri_of(self.model.table)

    @property
    def after(self) -> int | None:
        """The target's version now, None without a table."""
        if self.model.is_view:
            return None
        head = self.services.log.head(self.uri)
        return head.version if head else None

    @property
    def is_unchanged(self) -> bool:
        """Whether the target is exactly as it was."""
        return self.after == self.before

    @property
    def is_taken_back(self) -> bool:
        """Whether the target holds again what it held: each build was followed by its RESTORE."""
        if self.before is None or self.after is None:
            return False
        commits = self.services.log.commits(self.uri, self.before)
        kinds = [_kind(commit.token) for commit in commits]
        return bool(kinds) and kinds == [*_COUNTED] * (len(kinds) // 2)

    @property
    def error(self) -> PenstockError | None:
        """The first error of the step, None where it succeeded."""
        errors = (result.error for result in self.results if result.error is not None)
        return self.refused or next(errors, None)

    @property
    def status(self) -> str:
        """The worst of what became of its steps: failed, skipped, success or unchanged."""
        if self.refused is not None:
            return "failed"
        found = {result.status for result in self.results}
        return next((s for s in ("failed", "skipped", "success") if s in found), "unchanged")

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """What checks said, of all steps."""
        reports = (result.invariant_report for result in self.results)
        return tuple(check for report in reports if report is not None for check in report.all)

    @property
    def metrics(self) -> Mapping[str, int]:
        """The counts of all steps together: rows, and what the strategy tells beside them."""
        found: dict[str, int] = {}
        for result in self.results:
            rows = result.rows
            counts = {
                "inserted": rows.inserted,
                "updated": rows.updated,
                "deleted": rows.deleted,
                "written": rows.written,
                **({"late": rows.late} if rows.late is not None else {}),
                **result.metrics,
            }
            for name, count in counts.items():
                found[name] = found.get(name, 0) + count
        return found

    @property
    def commits(self) -> int:
        """How many commits on the target wrote or took back rows."""
        if self.after is None:
            return 0
        base = -1 if self.before is None else self.before
        commits = self.services.log.commits(self.uri, base)
        return sum(1 for commit in commits if commit.step and _is_counted(commit.token))

    @property
    def watermarks(self) -> tuple[Watermark, ...]:
        """The watermarks that are on record now."""
        record = self.services.reading.records.models().get(self.model.name)
        return record.watermarks if record else ()


def is_called(written: str, check: Check | CheckResult) -> bool:
    """Whether a test means a check: by its name, or `before.NAME` and `after.NAME`."""
    return written in (check.name, f"{check.phase}.{check.name}")


def _is_counted(token: str) -> bool:
    return _kind(token) in (*_COUNTED, None)


def _kind(token: str) -> StepKind | None:
    try:
        return read_intent(token).kind
    except (KeyError, ValueError):  # a token that was cut
        return None
