"""What `penstock check` gives back (spec/checks.md §8.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.core.check_results import (
    CheckResult,
    CheckStatus,
    Flag,
    GroupValue,
    InvariantReport,
    Quarantine,
    Sample,
)
from penstock.core.findings import Severity
from penstock.core.masking import mask

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


def invariants_document(report: InvariantReport) -> dict[str, Json]:
    """Give the results of both phases."""
    return {
        "before": [check_document(result) for result in report.before],
        "after": [check_document(result) for result in report.after],
    }


def check_document(result: CheckResult) -> dict[str, Json]:
    """Give all that one check said; cells of rows are there only where it may keep them."""
    return {
        "name": result.name,
        "type": result.type,
        "phase": str(result.phase),
        "severity": str(result.severity),
        "status": str(result.status),
        "message": mask(result.message),
        "details": mask(result.details) if result.details is not None else None,
        "partitions": result.partitions,
        "values": [_value(value) for value in result.values],
        "failures": result.failures,
        "sample": _sample(result.sample) if result.sample is not None else None,
        "error": result.error,
        "duration": result.duration,
        "scope": str(result.scope),
        "where": str(result.where) if result.where is not None else None,
    }


def _value(value: GroupValue) -> Json:
    return {
        "group": value.group,
        "status": str(value.status),
        "values": dict(value.values),
        "message": mask(value.message) or None,
        "details": mask(value.details) if value.details is not None else None,
        "failures": value.failures,
    }


def _sample(sample: Sample) -> Json:
    rows = [[None if cell is None else mask(cell) for cell in row] for row in sample.rows]
    return {"columns": sample.columns, "rows": rows}


@dataclass(frozen=True, slots=True)
class ModelChecked:
    """What the checks of one model, or of some of its partitions, say of the rows of today.

    `partitions` are ranges of keys as first and last, `version` the Delta version that was read.
    """

    model: str
    partitions: tuple[tuple[str, str], ...]
    count: int
    version: int | None
    report: InvariantReport
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceChecked:
    """How old a source's newest row is; a severity only where it is too old."""

    source: str
    result: CheckResult


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Everything that one `penstock check` evaluated."""

    models: tuple[ModelChecked, ...] = ()
    sources: tuple[SourceChecked, ...] = ()
    strict: bool = False
    notes: tuple[str, ...] = ()

    @property
    def reports(self) -> Mapping[str, InvariantReport]:
        """The reports by model; those of several ranges of one model are put together."""
        found: dict[str, InvariantReport] = {}
        for each in self.models:
            known = found.get(each.model, InvariantReport())
            report = each.report
            found[each.model] = InvariantReport(
                (*known.before, *report.before), (*known.after, *report.after)
            )
        return found

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Every result, sources last."""
        told = [result for each in self.models for result in each.report.all]
        return (*told, *(each.result for each in self.sources))

    @property
    def evaluated_nothing(self) -> bool:
        """Whether no check was looked at: silence is no success."""
        return all(result.status is CheckStatus.SKIPPED for result in self.results)

    @property
    def ok(self) -> bool:
        """Whether something was evaluated and no gate failed, nor with `strict` anything."""
        failed = [result for result in self.results if result.failed]
        bad = failed if self.strict else [r for r in failed if r.severity is Severity.ERROR]
        return not bad and not self.evaluated_nothing

    def document(self) -> dict[str, Json]:
        """Give all of it as JSON values, as `penstock check --json` prints it."""
        found = Counter(result.status for result in self.results)
        return {
            "command": "check",
            "ok": self.ok,
            "strict": self.strict,
            "checks": {
                "total": len(self.results),
                **{str(status): found[status] for status in CheckStatus},
                "errors": sum(1 for result in self.results if result.failed_gate),
            },
            "models": [
                {
                    "model": each.model,
                    "partitions": each.partitions,
                    "count": each.count,
                    "version": each.version,
                    **invariants_document(each.report),
                    "lines": [mask(line) for line in each.lines],
                }
                for each in self.models
            ],
            "sources": [
                {"source": each.source, **check_document(each.result)} for each in self.sources
            ],
            "notes": [mask(note) for note in self.notes],
        }

    def to_json(self) -> str:
        """Give the document as text."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class AcceptReport:
    """The flags that a person closed, or the quarantines that were dropped."""

    flags: tuple[Flag, ...] = ()
    quarantines: tuple[Quarantine, ...] = ()
