"""The results of the example: one check that passes, one of each failure."""

from __future__ import annotations

from fakes.reports import a_check_result
from penstock.core.check_results import InvariantReport, Sample
from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import CheckStatus
from penstock.core.errors import CheckFailedError
from penstock.core.findings import Location, Severity

PASSED, FAILED, SKIPPED = CheckStatus.PASSED, CheckStatus.FAILED, CheckStatus.SKIPPED
WARNING = Severity.WARNING

HAS_ROWS = a_check_result("source_has_data", PASSED, "no rows", type="sql", phase=Phase.BEFORE)
MIN_USERS = a_check_result(
    "min_users",
    FAILED,
    "1 row (expected 0)",
    type="sql",
    partitions=("2024-12-01",),
    sample=Sample(("date", "user_count"), (("2024-12-01", "80"),)),
    where=Location("models/user_stats.yml", 31, 7),
)
NULLS = a_check_result(
    "null_check",
    FAILED,
    "nulls 33.33 % > max 5.00 %",
    type="null_percentage",
    severity=WARNING,
    partitions=("2024-12-01",),
    failures=1,
)
BOUNDS = a_check_result("revenue_bounds", PASSED, "condition is true", type="column_check")
BROKEN = a_check_result(
    "typo", FAILED, 'could not be evaluated: unknown column "revenu"', error="check-error"
)
NO_BASE = a_check_result("growth", SKIPPED, "no earlier execution", type="row_count_change")

STORY = InvariantReport((HAS_ROWS,), (MIN_USERS, NULLS, BOUNDS))
GATE = CheckFailedError(
    "after-check-failed",
    "user_stats 2024-12-01: min_users: 1 row (expected 0)",
    where=Location("models/user_stats.yml", 31, 7),
    hint="penstock check --query user_stats --date 2024-12-01 --after",
)
