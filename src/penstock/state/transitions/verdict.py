"""What the checks of a step decided, as stores keep it with the step."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from penstock.core.check_results import Checked
from penstock.core.checks import OnFailure
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import Ranges, holds, intersection
from penstock.core.steps.step import Intent, StepFailure

Gates = tuple[tuple[str, Ranges], ...]


@dataclass(frozen=True, slots=True)
class RecordedChecks:
    """What was recorded of a step's checks, without what each of them said.

    `failed` are partitions of the step, `gates` the checks after it that failed, with theirs.
    """

    mode: OnFailure
    version: int | None = None
    failure: StepFailure | None = None
    failed: Ranges = ()
    gates: Gates = ()

    @classmethod
    def of(cls, checked: Checked, intent: Intent) -> RecordedChecks:
        """Take over what was recorded of a step."""
        ords = ords_of(intent)
        return cls(
            mode=checked.mode,
            version=checked.version,
            failure=checked.failure,
            failed=intersection(checked.failed, ords) if checked.failure else (),
            gates=tuple(
                (result.name, result.failed_ords(intent.grid, ords))
                for result in checked.report.after
                if result.failed_gate
            ),
        )

    @property
    def blocks(self) -> bool:
        """Whether nothing of the partitions that failed was written."""
        return self.failure is not None and self.mode is OnFailure.BLOCK

    def gates_of(self, number: int) -> tuple[str, ...]:
        """Name the gates that a partition failed."""
        return tuple(name for name, failed in self.gates if holds(failed, number))

    def checked(self) -> Checked:
        """Give what was recorded; its report is empty, the history of checks has it."""
        return Checked(
            mode=self.mode, version=self.version, failure=self.failure, failed=self.failed
        )


def ords_of(intent: Intent) -> Ranges:
    """Give the partitions of a step as numbers; a whole table is the number 0."""
    return ((0, 0),) if intent.grid.grain is Grain.WHOLE else intent.ords


def write_verdict(verdict: RecordedChecks) -> str:
    """Give a verdict as one line of JSON."""
    document = {
        "mode": str(verdict.mode),
        "version": verdict.version,
        "failure": asdict(verdict.failure) if verdict.failure else None,
        "failed": verdict.failed,
        "gates": verdict.gates,
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def read_verdict(text: str) -> RecordedChecks:
    """Read what `write_verdict` gave."""
    document: dict[str, Any] = json.loads(text)
    failure = document["failure"]
    return RecordedChecks(
        mode=OnFailure(document["mode"]),
        version=document["version"],
        failure=StepFailure(**failure) if failure else None,
        failed=_ranges(document["failed"]),
        gates=tuple((name, _ranges(failed)) for name, failed in document["gates"]),
    )


def write_numbers(numbers: Ranges) -> str:
    """Give ranges as JSON: `[[1,3],[7,7]]`."""
    return json.dumps(numbers, separators=(",", ":"))


def read_numbers(text: str) -> Ranges:
    """Read what `write_numbers` gave.

    >>> read_numbers("[[1,3],[7,7]]")
    ((1, 3), (7, 7))
    """
    return _ranges(json.loads(text))


def _ranges(found: list[list[int]]) -> Ranges:
    return tuple((low, high) for low, high in found)
