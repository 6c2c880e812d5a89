"""Small reports for tests of what users see."""

from __future__ import annotations

from fakes.builders import NOON
from penstock.app.reports import ModelResult
from penstock.app.run_report import RunReport
from penstock.core.check_results import CheckResult
from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.findings import Severity
from penstock.core.names import TableName
from penstock.plan.values import Plan, Reason, State, Step
from penstock.plan.work import PartitionsWork

PARTITIONS = ("partitions", "grid", "version", "revision", "is_range")


def a_step(model: str, state: State = State.NEVER_RUN, **changes: object) -> Step:
    """A step of an ordinary build; `detail` and `pending` go into its reason."""
    reason = Reason(
        state,
        str(changes.pop("detail", "")),
        changes.pop("also", ()),  # type: ignore[arg-type]
        bool(changes.pop("pending", False)),
    )
    settings: dict[str, object] = {"model": model, "reason": reason, "initial": False}
    own = {name: changes.pop(name) for name in PARTITIONS if name in changes}
    if "grid" in own:
        settings["work"] = PartitionsWork(**own)  # type: ignore[arg-type]
    return Step(**(settings | changes))  # type: ignore[arg-type]


def a_result(name: str, status: str = "success", **changes: object) -> ModelResult:
    """What became of a table model in schema `s`."""
    settings: dict[str, object] = {
        "name": name,
        "table": TableName("s", name),
        "strategy": "table",
        "status": status,
        "reason": "never_run",
        "is_view": changes.get("strategy") == "view",
    }
    return ModelResult(**(settings | changes))  # type: ignore[arg-type]


def a_report(plan: Plan, *results: ModelResult, **changes: object) -> RunReport:
    """A run's report."""
    settings: dict[str, object] = {
        "run_id": "0190a3c4",
        "run_timestamp": NOON,
        "plan": plan,
        "results": results,
    }
    return RunReport(**(settings | changes))  # type: ignore[arg-type]


def a_plan(*steps: Step, **changes: object) -> Plan:
    """A plan made at noon."""
    return Plan(NOON, steps, **changes)  # type: ignore[arg-type]


def a_check_result(
    name: str, status: CheckStatus = CheckStatus.PASSED, message: str = "", **changes: object
) -> CheckResult:
    """What a row count of severity error said after a step."""
    settings: dict[str, object] = {
        "name": name,
        "type": "row_count",
        "phase": Phase.AFTER,
        "severity": Severity.ERROR,
        "status": status,
        "message": message,
    }
    return CheckResult(**(settings | changes))  # type: ignore[arg-type]
