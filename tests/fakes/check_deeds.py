"""What may be recorded of checks, drawn for the law of stores."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from hypothesis import strategies as st

from penstock.core.check_results import Checked, CheckResult, InvariantReport, Quarantine, Sample
from penstock.core.checks.check import CheckScope, OnFailure, Phase
from penstock.core.checks.check_type import CheckStatus, GroupValue
from penstock.core.findings import Location, Severity
from penstock.core.partitions.partition import Grain
from penstock.core.steps.step import Intent, StepFailure

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
CELL = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
NUMBER = st.integers(0, 2)  # as the partitions of the law
COUNT = st.none() | st.integers(0, 2**62)
VALUE = st.builds(
    GroupValue,
    NUMBER.map(str),
    st.sampled_from(CheckStatus),
    st.dictionaries(TEXT, CELL, max_size=2).map(lambda found: dict(sorted(found.items()))),
    TEXT,
    st.none() | TEXT,
    COUNT,
)


def _agreeing(result: CheckResult) -> CheckResult:
    """Give a result that failed where a group did."""
    failed = tuple(v.group for v in result.values if v.status is CheckStatus.FAILED)
    if not result.values:
        return result
    status = CheckStatus.FAILED if failed else result.values[0].status
    return replace(result, status=status, partitions=failed)


RESULT = st.builds(
    CheckResult,
    name=st.sampled_from(["rows", "nulls"]),
    type=TEXT,
    phase=st.sampled_from(Phase),
    severity=st.sampled_from(Severity),
    status=st.sampled_from(CheckStatus),
    message=TEXT,
    details=st.none() | TEXT,
    partitions=st.sampled_from([(), ("*",), ("0", "1"), ("2",)]),
    values=st.lists(VALUE, max_size=2, unique_by=lambda v: v.group).map(tuple),
    failures=COUNT,
    sample=st.none() | st.builds(Sample, st.tuples(TEXT), st.lists(st.tuples(CELL)).map(tuple)),
    error=st.none() | TEXT,
    duration=st.floats(0, 1000),
    definition=st.sampled_from(["a", "b", "c"]),
    scope=st.sampled_from(CheckScope),
    where=st.none() | st.builds(Location, TEXT, st.integers(1, 9), st.integers(0, 9)),
).map(_agreeing)
REPORT = st.builds(
    lambda results: InvariantReport(
        tuple(r for r in results if r.phase is Phase.BEFORE),
        tuple(r for r in results if r.phase is Phase.AFTER),
    ),
    st.lists(RESULT, max_size=2),
)
QUARANTINE = st.builds(
    Quarantine,
    st.just("step-0"),
    st.just("orders"),
    TEXT,
    TEXT,
    st.sampled_from([((0, 0),), ((0, 1), (5, 9))]),
    st.integers(0, 2**62),
    st.just(dt.datetime(2024, 3, 8, tzinfo=dt.UTC)),
)
CHECKED = st.builds(
    Checked,
    st.sampled_from(OnFailure),
    REPORT,
    COUNT,
    st.none() | st.builds(StepFailure, TEXT, TEXT, TEXT, TEXT),
    st.sampled_from([(), ((0, 0),), ((1, 2),), ((0, 2),)]),
    st.none() | QUARANTINE,
)


def keyed(checked: Checked, intent: Intent) -> Checked:
    """Name groups by the keys of a step's grid instead of their numbers."""
    report = checked.report
    return replace(
        checked,
        report=InvariantReport(
            tuple(_named(result, intent) for result in report.before),
            tuple(_named(result, intent) for result in report.after),
        ),
    )


def _named(result: CheckResult, intent: Intent) -> CheckResult:
    def key(group: str) -> str:
        whole = group == "*" or intent.grid.grain is Grain.WHOLE
        return "*" if whole else intent.grid.key(int(group))

    return replace(
        result,
        partitions=tuple(key(group) for group in result.partitions),
        values=tuple(replace(value, group=key(value.group)) for value in result.values),
    )
