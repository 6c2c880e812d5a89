"""A table whose rows must be written anew stays as it is until the new ones have passed."""

from dataclasses import replace

import pytest

from fakes.builders import a_source
from fakes.check_inputs import a_check, answered
from fakes.lake import columns
from fakes.versioned_models import EVENTS, a_body, a_daily, a_version
from fakes.workshop import Workshop
from penstock.core.checks import Checks, CheckScope, OnFailure, RowCount
from penstock.core.records import Status
from penstock.core.statement import OBSERVED_ROWS

DAYS = columns("date date, n int")
HAS_ROWS = a_check(RowCount(1))
IN_TABLE = replace(a_check(RowCount(1)), name="all", scope=CheckScope.TABLE)
ONE_DAY = "2024-02-28"


def a_model(sql, *, mode=OnFailure.FLAG):
    checks = Checks((), (HAS_ROWS, IN_TABLE), mode)
    version = replace(a_version(a_body("v1", "2024-02-28", EVENTS, sql=sql)), checks=checks)
    return replace(a_daily("days", version), checks=checks)


@pytest.fixture
def workshop():
    """One day was built, and now its column `n` is a text."""
    made = Workshop(a_source("events"), a_model("old"))
    made.lake.gives("v1", "date date, n int")
    made.run("days", date=ONE_DAY)
    made.lake.gives("v1", "date date, n string")
    made.lake.answers("check_after_target", answered(IN_TABLE, DAYS, 9))
    made.has(a_model("new", mode=OnFailure.BLOCK))
    made.lake.ran.clear()
    return made


def sync(workshop, rows):
    """Build the day anew, of so many rows."""
    workshop.lake.answers("penstock_query_0", {OBSERVED_ROWS: rows})
    return workshop.run("days", date=ONE_DAY, allow_breaking=True)["days"]


def on_record(workshop):
    (row,) = workshop.store.records.runs("days")
    return row.status, row.commit_version


def test_new_rows_that_fail_leave_the_table_as_it_is(workshop):
    result = sync(workshop, 0)

    assert result.status == "failed"
    assert workshop.lake.commits_of("days") == []
    assert workshop.lake.tables[workshop.uri("days")].schema == DAYS


def test_new_rows_that_pass_come_after_the_old_ones_were_written_anew(workshop):
    result = sync(workshop, 1)

    assert result.status == "success"
    assert workshop.lake.commits_of("days") == ["CREATE", "INSERT"]
    assert result.schema_changes == ("n INT -> STRING (breaking)",)
    assert on_record(workshop) == (Status.SUCCESS, 3)


def test_the_table_is_looked_at_as_it_will_be(workshop):
    sync(workshop, 0)

    defined = [sql for _, word, sql in workshop.lake.ran if word == "define"]
    assert defined[1] == (
        "SELECT * FROM (SELECT `date` AS `date`, CAST(`n` AS string) AS `n` "
        "FROM `penstock_target`) WHERE `date` IS NOT NULL"
    )
    assert "FROM `check_rows_that_stay` WHERE NOT" in defined[2]


def test_a_table_that_is_gone_is_made_anew_with_the_rows_that_passed(workshop):
    del workshop.lake.tables[workshop.uri("days")]

    result = sync(workshop, 1)

    assert result.status == "success"
    assert on_record(workshop) == (Status.SUCCESS, 1)
