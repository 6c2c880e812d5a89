"""What `penstock check` gives back (spec/checks.md §8.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

from penstock.core.check_results import (
    CheckResult,
    CheckStatus,
    Flag,
    GroupValue,
    InvariantReport,
    Quarantine,
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
    sample = result.sample
    rows = [list(map(_masked, row)) for row in sample.rows] if sample else []
    said = _fields(result)
    del said["definition"]
    return {
        **said,
        "values": [_value(value) for value in result.values],
        "sample": {"columns": sample.columns, "rows": rows} if sample else None,
        "where": str(result.where) if result.where is not None else None,
    }


def _fields(said: CheckResult | GroupValue) -> dict[str, Json]:
    """Give the fields of what was said by name, without secrets."""
    found = {each.name: getattr(said, each.name) for each in fields(said)}
    return found | {"message": mask(said.message), "details": _masked(said.details)}


def _value(value: GroupValue) -> Json:
    said = _fields(value)
    return said | {"message": said["message"] or None}


def _masked(text: str | None) -> str | None:
    return None if text is None else mask(text)


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
            known, more = found.get(each.model, InvariantReport()), each.report
            before, after = (*known.before, *more.before), (*known.after, *more.after)
            found[each.model] = InvariantReport(before, after)
        return found

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Every result, sources last."""
        of_models = [result for each in self.models for result in each.report.all]
        return (*of_models, *(each.result for each in self.sources))

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
