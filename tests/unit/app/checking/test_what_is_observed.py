"""What rides on a write: nothing with --skip-checks, and nothing that Spark would refuse."""

from dataclasses import replace

import pytest

from fakes.builders import a_source
from fakes.check_inputs import a_check, said
from fakes.versioned_models import EVENTS, a_body, a_daily, a_version
from fakes.workshop import Workshop
from penstock.core.checks import Checks, NotNull
from penstock.core.errors import QueryError

NO_DAY_IS_NULL = a_check(NotNull(("date",)))
ONE_DAY = "2024-02-28"
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
    return workshop.run("days", date=ONE_DAY, **asked)["days"], seen[0]


def words(workshop):
    return [word for _, word, _ in workshop.lake.ran]


def test_what_a_check_measures_rides_on_the_write(workshop):
    _, feed = run(workshop)

    assert [*feed.counts.values()] == [
        "count(*)",
        "CAST(count(CASE WHEN (`date` IS NULL) THEN 1 END) AS STRING)",
    ]


def test_C54_with_skip_checks_nothing_rides_on_the_write(workshop):
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
