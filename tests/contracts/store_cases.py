"""What the suites of the state store are made of: holders, runs, steps to begin."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from fakes.clock import NOON
from penstock.core.check_results import Checked, CheckResult, InvariantReport
from penstock.core.checks.check import OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.columns.typed import TypedValue
from penstock.core.findings import Severity
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grain, Grid, read_ranges, write_ranges
from penstock.core.project import LeaseSettings
from penstock.core.records import Holder, Run
from penstock.core.steps.inputs import DeltaPin, InputPin
from penstock.core.steps.step import Intent, Outcome, RowCounts, StepFailure, StepKind
from penstock.core.steps.window import Watermark
from penstock.state.lease import Identity

OURS = Identity("shop", "dev", "0.1.0")
LEASE = LeaseSettings(dt.timedelta(seconds=60), dt.timedelta(seconds=10))
HERE = Holder("run-1", "host-a", 11, "ann")
OTHER = Holder("run-2", "host-a", 22, "bob")
ELSEWHERE = Holder("run-3", "host-b", 33, "eve")
DAY = Grid(Grain.DAY)
MARK = Fingerprint("sql-1", "canonical-1", "settings-1", "layout-1")
BROKEN = StepFailure("null-key", "3 rows have no id", "models/orders.sql:4", "fill them")


def run(holder: Holder = HERE, started: dt.datetime = NOON) -> Run:
    return Run(holder.run, "run", "--threads 2", "dev", NOON, holder, started)


def intent(step: str = "step-1", model: str = "orders", holder: Holder = HERE) -> Intent:
    return Intent(
        step=step,
        run=holder.run,
        model=model,
        table=TableName("mart", model),
        uri=f"/warehouse/mart/{model}",
        kind=StepKind.BUILD,
        strategy="append",
        reason="never_run",
        triggered_by="run",
        run_timestamp=NOON,
        fingerprint=MARK,
        inputs=(InputPin("raw.orders", DeltaPin("table-raw", 4)),),
        base_version=None,
    )


def days(step: str, model: str, *ranges: tuple[int, int], **changes) -> Intent:
    """Give a step of a model cut by days; its partitions as ranges of days since 1970."""
    keys = write_ranges(DAY, ranges)
    return replace(intent(step, model), grid=DAY, partitions=keys, strategy="partition", **changes)


def with_mark(value: int, step: str = "step-1", holder: Holder = HERE) -> Intent:
    return replace(intent(step, holder=holder), watermarks=(mark(value),))


def mark(value: int, column: str = "n", name: str = "raw.orders") -> Watermark:
    return Watermark(name, column, TypedValue("BIGINT", str(value)))


def wrote(version: int | None, rows: int = 3) -> Outcome:
    return Outcome(
        version=version,
        table_id="table-orders",
        settled_version=version,
        rows=RowCounts(inserted=rows),
        bytes_written=rows * 10,
        metrics={"numOutputRows": rows},
        duration_ms=250,
    )


GATE = StepFailure("after-check-failed", "orders: min_rows", "models/orders.yml:7", "look")


def a_result(name: str, status: CheckStatus, *groups: str, **changes) -> CheckResult:
    """Give a gate after a step that measured rows of each group; those that failed are named."""
    failed = groups if status is CheckStatus.FAILED else ()
    plain = CheckResult(
        name=name,
        type="row_count",
        phase=Phase.AFTER,
        severity=Severity.ERROR,
        status=status,
        message=f"{name} {status}",
        partitions=failed,
        values=tuple(GroupValue(group, status, {"rows": "3"}, "rows 3") for group in groups),
        definition=f"digest-of-{name}",
    )
    return replace(plain, **changes)


def passed_gate(*groups: str, mode: OnFailure = OnFailure.FLAG) -> Checked:
    """Give what is recorded of a step whose only gate passed."""
    passed = a_result("min_rows", CheckStatus.PASSED, *groups)
    return Checked(mode, InvariantReport(after=(passed,)), version=4)


def failed_gate(*groups: str, mode: OnFailure = OnFailure.FLAG) -> Checked:
    """Give what is recorded of a step whose only gate failed for days, or for `*`."""
    failed = a_result("min_rows", CheckStatus.FAILED, *groups)
    numbers = ((0, 0),) if groups == ("*",) else read_ranges(DAY, groups)
    return Checked(mode, InvariantReport(after=(failed,)), 4, GATE, numbers)


def check(store, step: Intent, checked: Checked, version: int | None = 4) -> None:
    """Begin a step, record its checks, finish it."""
    store.journal.begin(step, {}, HERE, None)
    store.journal.record_checks(step.step, checked)
    store.journal.finish(step.step, wrote(version))


def recover(store, step: Intent, version: int = 4) -> None:
    """Begin a step and finish it as recovery does, without its checks."""
    store.journal.begin(step, {}, HERE, None)
    store.journal.finish(step.step, wrote(version), recovered=True)


def succeed(store, step, version=0, holder=HERE):
    store.journal.begin(step, {}, holder, None)
    store.journal.finish(step.step, wrote(version))
