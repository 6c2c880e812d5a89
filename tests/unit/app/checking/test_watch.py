"""What rides on a write: nothing with --skip-checks, and nothing that Spark would refuse.

A step that writes nothing is told so, even if the table it left alone fails a gate.
A table whose rows must be written anew stays as it is until the new ones have passed.
A view over path tables runs nothing, and its checks are looked at all the same.
"""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.check_inputs import a_check, answered, said
from fakes.lake import ID, columns
from fakes.versioned_models import EVENTS, a_body, a_daily, a_version
from fakes.workshop import Workshop
from penstock.core.checks.check import Check, Checks, CheckScope, OnFailure, Phase
from penstock.core.errors import QueryError
from penstock.core.findings import Location
from penstock.core.records import Status
from penstock.core.statement import OBSERVED_ROWS
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.checks.types import NotNull, RowCount
from penstock.strategies.view import View

NO_DAY_IS_NULL = a_check(NotNull(("date",)))
ONE_DAY = {"from_": "2024-02-28", "to": "2024-02-28"}
REFUSED = QueryError("spark-collation-mismatch", "two collations")


@pytest.fixture
def workshop():
    checks = Checks((), (NO_DAY_IS_NULL,))
    version = replace(a_version(a_body("v1", "2024-02-28", EVENTS)), checks=checks)
    made = Workshop(a_source("events"), replace(a_daily("days", version), checks=checks))
    made.lake.gives("v1", "date date, n int")
    return made


def run(workshop, **asked):
    """Run one day; give its result, and what was observed while its rows were written."""
    seen = []
    note = lambda: seen.append(workshop.lake.sessions[-1].watched)  # noqa: E731  one look
    workshop.lake.trouble("days", "committed", lambda: None, note)  # the table comes first
    return workshop.run("days", **ONE_DAY, **asked)["days"], seen[0]


def words(workshop):
    return [word for _, word, _ in workshop.lake.ran]


def test_what_a_check_measures_rides_on_the_write(workshop):
    _, feed = run(workshop)

    assert [*feed.counts.values()] == [
        "count(*)",
        "CAST(count(CASE WHEN (`date` IS NULL) THEN 1 END) AS STRING)",
    ]


def test_with_skip_checks_nothing_rides_on_the_write(workshop):
    result, feed = run(workshop, skip_checks=True)

    assert feed is None
    assert said(result.invariant_report.after) == [("skipped", "--skip-checks")]
    assert not {"describe", "observed", "rows"} & {*words(workshop)}


def test_what_spark_refuses_to_describe_is_asked_after_the_write(workshop):
    workshop.lake.trouble("days", "describe", REFUSED)

    result, feed = run(workshop)

    assert (feed, result.version) == (None, 1)


def test_what_cannot_be_put_together_is_asked_after_the_write(workshop):
    workshop.lake.trouble("days", "rows", REFUSED)

    result, _ = run(workshop)

    assert said(result.invariant_report.after) == [("passed", "no rows")]
    assert words(workshop)[-1] == "rows"


AT_LEAST_5 = a_check(RowCount(5), scope=CheckScope.TABLE)


def test_a_table_that_fails_a_gate_is_flagged_though_nothing_was_written():
    events = a_source("events")
    strategy = Append(WindowSettings("n"))
    workshop = Workshop(events, a_model("log", "raw.events", strategy=strategy))
    workshop.run()
    workshop.has(a_model("log", "raw.events", strategy=strategy, checks=Checks((), (AT_LEAST_5,))))
    workshop.lake.land(events.path, n="1")
    workshop.lake.answers("check_after_target", answered(AT_LEAST_5, ID, 4))

    result = workshop.run()["log"]

    assert workshop.operations("log") == ["CREATE OR REPLACE TABLE AS SELECT"]
    assert said(result.invariant_report.after) == [("failed", "rows 4 < min 5")]
    assert result.consequence == "nothing was written; flagged"


DAYS = columns("date date, n int")
HAS_ROWS = a_check(RowCount(1))
IN_TABLE = replace(a_check(RowCount(1)), name="all", scope=CheckScope.TABLE)


def a_widened_model(sql, *, mode=OnFailure.FLAG):
    checks = Checks((), (HAS_ROWS, IN_TABLE), mode)
    version = replace(a_version(a_body("v1", "2024-02-28", EVENTS, sql=sql)), checks=checks)
    return replace(a_daily("days", version), checks=checks)


@pytest.fixture
def widened():
    """One day was built, and now its column `n` is a text."""
    made = Workshop(a_source("events"), a_widened_model("old"))
    made.lake.gives("v1", "date date, n int")
    made.run("days", **ONE_DAY)
    made.lake.gives("v1", "date date, n string")
    made.lake.answers("check_after_target", answered(IN_TABLE, DAYS, 9))
    made.has(a_widened_model("new", mode=OnFailure.BLOCK))
    made.lake.ran.clear()
    return made


def sync(widened, rows):
    """Build the day anew, of so many rows."""
    widened.lake.answers("penstock_query_0", {OBSERVED_ROWS: rows})
    return widened.run("days", **ONE_DAY, allow_breaking=True)["days"]


def on_record(widened):
    (row,) = widened.store.records.runs("days")["days"]
    return row.status, row.commit_version


def test_new_rows_that_fail_leave_the_table_as_it_is(widened):
    result = sync(widened, 0)

    assert result.status == "failed"
    assert widened.lake.commits_of("days") == []
    assert widened.lake.tables[widened.uri("days")].schema == DAYS


def test_new_rows_that_pass_come_after_the_old_ones_were_written_anew(widened):
    result = sync(widened, 1)

    assert result.status == "success"
    assert widened.lake.commits_of("days") == ["CREATE", "INSERT"]
    assert result.schema_changes == ("n INT -> STRING (breaking)",)
    assert on_record(widened) == (Status.SUCCESS, 3)


def test_the_table_is_looked_at_as_it_will_be(widened):
    sync(widened, 0)

    defined = [sql for _, word, sql in widened.lake.ran if word == "define"]
    assert defined[1] == (
        "SELECT * FROM (SELECT `date` AS `date`, CAST(`n` AS string) AS `n` "
        "FROM `penstock_target`) WHERE `date` IS NOT NULL"
    )
    assert "FROM `check_rows_that_stay` WHERE NOT" in defined[2]


def test_a_table_that_is_gone_is_made_anew_with_the_rows_that_passed(widened):
    del widened.lake.tables[widened.uri("days")]

    result = sync(widened, 1)

    assert result.status == "success"
    assert on_record(widened) == (Status.SUCCESS, 1)


AT_LEAST_5_ROWS = Check(
    "rows", Phase.AFTER, RowCount(5), Location("models/v.yml", 3), definition="d"
)
VIEWED_EVENTS = a_source("events")


def a_workshop(mode, rows):
    view = a_model("v", "raw.events", strategy=View(), checks=Checks((), (AT_LEAST_5_ROWS,), mode))
    workshop = Workshop(VIEWED_EVENTS, view)
    workshop.lake.answers(
        "FROM (\nSELECT * FROM `penstock_query`", answered(AT_LEAST_5_ROWS, ID, rows)
    )
    return workshop


@pytest.mark.parametrize(
    ("mode", "consequence"),
    [
        (OnFailure.FLAG, "view made and flagged"),
        (OnFailure.BLOCK, "nothing published"),
        (OnFailure.ROLLBACK, "nothing published"),
    ],
)
def test_a_view_whose_rows_fail_a_gate_fails(mode, consequence):
    workshop = a_workshop(mode, 4)

    report = workshop.run()

    assert said(report["v"].invariant_report.after) == [("failed", "rows 4 < min 5")]
    assert (report["v"].status, report["v"].consequence) == ("failed", consequence)
    assert workshop.records()["v"].status is Status.FAILED


@pytest.mark.parametrize("mode", OnFailure)
def test_a_view_whose_rows_pass_is_made(mode):
    workshop = a_workshop(mode, 5)

    report = workshop.run()

    assert said(report["v"].invariant_report.after) == [("passed", "rows 5")]
    assert report["v"].status == "success"
    assert workshop.run().plan.is_empty
