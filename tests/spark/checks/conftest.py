"""Fixture S as a view, and a way to evaluate checks on its partitions."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from fakes.check_inputs import a_check_inputs, rows_of
from fakes.check_place import MOMENT, CheckPlace
from fakes.clock import FixedClock
from penstock.app.checking.evaluate import evaluate
from penstock.app.checking.results import CheckInputs
from penstock.core.check_results import CheckResult
from penstock.core.checks.check import Check
from penstock.core.columns.schema import Schema
from penstock.engine.session import SparkStepSession
from penstock.strategies.checks.typed import observables
from penstock.strategies.checks.types import NotNull, ValueRange

S = """
    SELECT * FROM VALUES
        (DATE '2024-12-01', 'eu', 120L, 10.0D), (DATE '2024-12-01', 'us', 80L, 20.0D),
        (DATE '2024-12-01', NULL, NULL, 5.0D),
        (DATE '2024-12-02', 'eu', 150L, 12.0D), (DATE '2024-12-02', 'us', 110L, -3.5D),
        (DATE '2024-12-04', 'eu', 200L, CAST(NULL AS DOUBLE))
    AS t(date, region, user_count, revenue)
"""
P1, P2, P3, P4 = "2024-12-01", "2024-12-02", "2024-12-03", "2024-12-04"


@dataclass
class Looker:
    """A session that remembers what it ran."""

    session: SparkStepSession
    ran: list[str] = field(default_factory=list)

    def rows(self, sql: str):
        self.ran.append(sql)
        return self.session.rows(sql)

    def describe(self, sql: str) -> Schema:
        return self.session.describe(sql)

    def view(self, name: str, sql: str) -> Schema:
        return self.session.define(name, sql)

    def look(
        self, checks: Sequence[Check], check_inputs: CheckInputs, **how: bool
    ) -> tuple[CheckResult, ...]:
        return evaluate(self, checks, check_inputs, **how)  # type: ignore[arg-type]

    def on(self, check: Check, *keys: str, sql: str = S) -> CheckResult:
        """Evaluate one check on partitions of fixture S; a single one also as it is observed."""
        columns = self.view("s", sql)
        inside = ", ".join(f"DATE '{key}'" for key in keys)
        rows = rows_of("s", columns)
        rows = replace(rows, sql=f"{rows.sql} WHERE date IN ({inside})")
        check_inputs = a_check_inputs(rows, *keys)
        (found,) = self.look([check], check_inputs)
        if len(keys) == 1:
            self._hold_observed(check, check_inputs, found)
        return found

    def _hold_observed(self, check: Check, check_inputs: CheckInputs, scanned: CheckResult) -> None:
        assert check_inputs.step is not None
        counts = observables([check], check_inputs.step.columns)
        if not counts:
            return
        (seen,) = self.session.rows(
            f"SELECT {', '.join(f'{sql} AS `{name}`' for name, sql in counts.items())} "
            f"FROM ({check_inputs.step.sql})"
        )
        asked = len(self.ran)
        (found,) = self.look([check], replace(check_inputs, observed=seen))
        assert replace(found, duration=0.0) == replace(scanned, duration=0.0)
        is_sampled = found.sample is not None
        counts_failures = found.failed and isinstance(check.rule, ValueRange | NotNull)
        assert len(self.ran) - asked <= is_sampled + counts_failures


@pytest.fixture
def looker(spark):
    session = SparkStepSession(
        spark.newSession(), None, lambda: ("0", "store", "shop"), lambda _: None
    )
    return Looker(session)


@pytest.fixture(scope="session")
def built_folder(tmp_path_factory, spark):
    """Fixture S with P1 built once."""
    place = CheckPlace(tmp_path_factory.mktemp("one") / "shop", spark)
    place.events()
    place.on(P1)
    return place.root


@pytest.fixture(scope="session")
def two_days(tmp_path_factory, spark):
    """Fixture S with P1 and P2 built once."""
    place = CheckPlace(tmp_path_factory.mktemp("two") / "shop", spark)
    place.events()
    place.backfill("user_stats", P1, P2)
    return place.root


def copied(folder, root, spark):
    """Copy a folder, tables and records included; it is a minute later."""
    shutil.copytree(folder, root)
    return CheckPlace(root, spark, {}, FixedClock(MOMENT + dt.timedelta(minutes=1)))


@pytest.fixture
def built(tmp_path, spark, built_folder):
    """A copy of fixture S with P1 built."""
    return copied(built_folder, tmp_path / "shop", spark)


@pytest.fixture
def stats(tmp_path, spark):
    """Fixture S with its events, without checks, nothing run."""
    place = CheckPlace(tmp_path, spark)
    place.events()
    return place
