"""Runs of a package: limits, passes, the chain of steps, what each leaves on record."""

import pytest

from fakes.session_place import SessionPlace

pytestmark = pytest.mark.spark
CORE = ("page_views", "sessions", "user_mapping", "users")
TABLES = (
    "base_sessions_lifecycle_manifest",
    "base_quarantined_sessions",
    "base_sessions_this_run",
    "base_events_this_run",
    *CORE,
)
S21 = ("e1 s1 01-01 10:00", "e2 s2 01-01 20:00", "e3 s2 01-02 01:00")


def problems(report):
    """Give what did not go well, in words."""
    return [
        f"{each.name} {each.status} {each.error.render() if each.error else each.reason}"
        for each in report.results
        if not each.ok
    ]


def test_S21_S28_S92_two_runs_each_with_one_commit_per_table(spark, tmp_path):
    web = SessionPlace(tmp_path, spark)
    web.add(*S21)
    assert problems(web.at("01-02")) == []
    assert web.manifest()["sessions"] == ("01-01 20:00", "01-02", None)
    assert {part: web.commits_of(part) for part in TABLES} == dict.fromkeys(TABLES, 1)

    assert problems(web.at("01-03")) == []
    assert web.windows() == ["1 01-01..01-02", "4 01-01 14:00..01-03"]
    assert web.stored("base_events_this_run", "event_id") == ["e2", "e3"]
    assert web.stored("sessions", "session_identifier", "total_events") == [("s1", 1), ("s2", 2)]
    assert web.stored("users", "user_identifier", "sessions", "page_views") == [("u", 2, 3)]
    assert web.manifest() == dict.fromkeys(CORE, ("01-02 01:00", "01-03", None))
    quiet = {"base_quarantined_sessions", "user_mapping"}
    assert {p: web.commits_of(p) for p in TABLES} == {p: 2 - (p in quiet) for p in TABLES}
    assert [each.caught_up for each in web.passes()] == [True, True]
    assert web.passes()[0].events.window.kept == 2

    idle = web.at("01-01 12:00")
    assert (idle.plan.steps, {*map(tuple, web.states().values())}) == ((), {()})
