"""Runs of a package: limits, passes, the chain of steps, what each leaves on record."""

import pytest
from deltalake import DeltaTable

from fakes.session_lake import an_event
from fakes.session_place import SessionPlace, problems

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
CORE = ("page_views", "sessions", "user_mapping", "users")
TABLES = (
    "base_sessions_lifecycle_manifest",
    "base_quarantined_sessions",
    "base_sessions_this_run",
    "base_events_this_run",
    *CORE,
)
ALL = (*CORE, "m5")
FEW = """\
checks:
  sessions:
    on_failure: block
    after:
      - {name: few, sql: "select * from {destination} where total_events > 1"}
      - {type: unique, columns: [session_identifier]}
  page_views:
    on_failure: block
    after: [{type: not_null, column: session_identifier}, {type: row_count, min: 1}]
"""
FUNCTION = """\
    from pyspark.sql import functions as F
    from penstock import incremental_table

    @incremental_table(
        time_column="at", unique_key="event_id", tags=["web_incremental"],
        window_on={"web_base_events_this_run": None},
    )
    def m7(web_base_events_this_run):
        return web_base_events_this_run.select("event_id", F.col("collector_tstamp").alias("at"))
"""
NOT_MANY = """\
checks:
  users:
    on_failure: rollback
    after: [{name: few, sql: "select * from {destination} where sessions > 2"}]
  sessions: {after: [{type: not_null, column: stitched_user_id}]}
"""


def statuses(report):
    """Give what became of each model, by its name without that of the package."""
    found = {}
    for each in report.results:  # the first of a model is its own, stitching comes later
        found.setdefault(each.name.removeprefix("web_"), each.status)
    return found


def test_two_runs_each_with_one_commit_per_table(place):
    one, two = place("one"), place("two")
    assert one.manifest()["sessions"] == ("01-01 20:00", "01-02", None)
    assert {part: one.commits_of(part) for part in TABLES} == dict.fromkeys(TABLES, 1)

    assert two.windows() == ["1 01-01..01-02", "4 01-01 14:00..01-03"]
    assert two.stored("base_events_this_run", "event_id") == ["e2", "e3"]
    assert two.stored("sessions", "session_identifier", "total_events") == [("s1", 1), ("s2", 2)]
    assert two.stored("users", "user_identifier", "sessions", "page_views") == [("u", 2, 3)]
    assert two.manifest() == dict.fromkeys(ALL, ("01-02 01:00", "01-03", None))
    assert [row[0] for row in two.rows("m5")] == ["e1", "e2", "e3"]
    quiet = {"base_quarantined_sessions", "user_mapping"}
    assert {p: two.commits_of(p) for p in TABLES} == {p: 2 - (p in quiet) for p in TABLES}
    assert [each.caught_up for each in two.passes()] == [True, True]
    assert two.passes()[0].events.window.kept == 2

    idle = two.at("01-01 12:00")
    assert (idle.plan.steps, {*map(tuple, two.states().values())}) == ((), {()})


def test_nothing_new_is_nothing_to_do_and_a_run_again_changes_no_row(place):
    web = place()
    before = web.manifest()
    assert web.at("01-04").plan.is_empty
    DeltaTable(web.landing_events).optimize.compact()
    assert web.at("01-04").plan.is_empty
    assert (web.manifest(), len(web.passes())) == (before, 2)

    rows = {part: web.stored(part, "*") for part in ("page_views", "users")}
    web.package("skip_unchanged: false\n")
    assert problems(web.at("01-03", "web m5")) == []
    assert {part: web.stored(part, "*") for part in rows} == rows
    assert web.manifest() == before

    web.package("")
    web.add("e4 s9 01-03 05:00")
    assert problems(web.at("01-04", "web m5")) == []
    assert web.windows()[-1] == "4 01-01 19:00..01-04"
    assert web.manifest() == dict.fromkeys(ALL, ("01-03 05:00", "01-04", None))


def test_what_was_not_selected_catches_up_in_the_next_run(place):
    web = place("one")
    assert statuses(web.at("01-03", "m5"))["m5"] == "success"
    assert web.manifest() == {
        **dict.fromkeys(CORE, ("01-01 20:00", "01-02", None)),
        "m5": ("01-02 01:00", "01-03", None),
    }

    found = web.at("01-03", "web m5")
    assert problems(found) == []
    assert "m5" not in statuses(found) or statuses(found)["m5"] == "unchanged"
    assert web.windows()[-1] == "3 01-01 14:00..01-02 01:00"
    assert web.manifest() == dict.fromkeys(ALL, ("01-02 01:00", "01-03", None))


def test_a_new_model_is_brought_up_alone_or_beside_the_others(place):
    whole, each = place(name="whole"), place(name="each")
    for web in (whole, each):
        web.tagged("m6")
        web.add("e4 s9 01-03 05:00")
    each.package("backfill: per_model\n")

    assert problems(whole.at("01-04", "web m5 m6")) == []
    assert whole.windows()[-1] == "2 01-01..01-02 01:00"
    assert whole.manifest()["m6"] == ("01-02 01:00", "01-03", None)
    assert whole.manifest()["m5"] == ("01-02 01:00", "01-03", None)
    assert problems(whole.at("01-04", "web m5 m6")) == []

    assert problems(each.at("01-04", "web m5 m6")) == []
    assert each.windows()[-2:] == ["2 01-01..01-02 01:00", "4 01-01 19:00..01-04"]
    for web in (whole, each):
        assert web.manifest() == dict.fromkeys((*ALL, "m6"), ("01-03 05:00", "01-04", None))
        assert [row[0] for row in web.rows("m6")] == ["e1", "e2", "e3", "e4"]
        assert web.rows("m6") == web.rows("m5")


def test_a_module_that_checks_hold_back_is_brought_up_after_the_others(spark, tmp_path):
    web = SessionPlace(tmp_path / "web", spark, FEW)
    web.add("e1 s1 01-01 10:00", "e2 s1 01-02 10:00", "e3 s2 01-03 12:00")
    assert problems(web.at("01-02")) == []
    found = statuses(web.at("01-03"))
    assert (found["sessions"], found["users"], found["page_views"]) == (
        "failed",
        "skipped",
        "success",
    )
    behind = dict.fromkeys(("sessions", "users"), ("01-01 10:00", "01-02", None))
    ahead = dict.fromkeys(("page_views", "user_mapping"), ("01-02 10:00", "01-03", None))
    assert web.manifest() == {**behind, **ahead}
    assert (web.passes()[0].status, web.passes()[0].caught_up) == ("FAILED", True)
    each = web.copied(tmp_path / "each")

    web.package("")
    commits = web.commits_of("page_views")
    assert problems(web.at("01-04")) == []
    assert web.windows()[-1] == "3 01-01 04:00..01-02 10:00"
    assert web.commits_of("page_views") == commits
    assert web.manifest() == dict.fromkeys(CORE, ("01-02 10:00", "01-03", None))
    assert problems(web.at("01-04")) == []
    assert web.windows()[-1] == "4 01-02 04:00..01-04"
    assert web.passes()[0].events.history.kept == 1

    each.package("backfill: per_model\n")
    assert problems(each.at("01-04")) == []
    assert each.windows()[-2:] == ["3 01-01 04:00..01-02 10:00", "4 01-02 04:00..01-04"]
    for one in (web, each):
        assert one.manifest() == dict.fromkeys(CORE, ("01-03 12:00", "01-04", None))
        assert one.stored("sessions", "session_identifier", "total_events") == [
            ("s1", 2),
            ("s2", 1),
        ]


def test_what_is_taken_back_is_processed_again(place):
    web = place()
    web.package(NOT_MANY)
    web.add("e4 s9 01-03 05:00")
    before = web.manifest()["users"]

    found = web.at("01-04", "web m5")

    [refused] = problems(found)
    assert refused.startswith(
        "web_users failed sessions/web.yml:9: after-check-failed: web_users: "
    )
    assert web.stored("users", "sessions") == [2]
    ahead = dict.fromkeys(ALL, ("01-03 05:00", "01-04", None))
    assert web.manifest() == {**ahead, "users": before}
    assert web.take_back("page_views") == 1
    assert web.manifest()["page_views"] == before

    web.package("")
    assert problems(web.at("01-04", "web m5")) == []
    assert web.windows()[-1] == "3 01-01 19:00..01-03 05:00"
    assert web.manifest() == ahead
    assert (web.stored("users", "sessions"), web.stored("page_views", "count(*)")) == ([3], [4])


def test_a_released_session_is_held_again_until_it_may_be_longer(spark, tmp_path):
    web = SessionPlace(tmp_path, spark)
    web.add("e1 s1 01-01 10:00", "e3 s1 01-04 10:00", "e4 s1 01-04 10:00:07")
    assert problems(web.at("01-05")) == []
    held = ("base_quarantined_sessions", "session_identifier", "since", "events_dropped")
    assert web.stored(*held) == [("s1", "01-05", 1)]

    web.release("s1")
    found = web.at("01-08")
    assert problems(found) == []
    assert web.stored(*held) == [("s1", "01-08", 1)]
    assert web.releases() == ()

    web.package("max_session_days: 7\n")
    web.release("s1")
    assert problems(web.at("01-08")) == []
    assert web.stored(*held) == []
    assert web.stored("sessions", "start_tstamp", "end_tstamp", "total_events") == [
        ("01-01 10:00", "01-04 10:00:07", 3)
    ]


def test_without_events_tables_are_made_and_events_of_the_future_wait(spark, tmp_path):
    web = SessionPlace(tmp_path, spark, "strict_seed_limits: true\n")
    assert problems(web.at("01-02")) == []
    assert web.manifest() == {}
    assert [web.stored(part, "count(*)") for part in TABLES] == [[0]] * len(TABLES)

    web.package("")
    web.add("e1 s1 01-01 10:00", "e2 s2 2099-01-01")
    assert problems(web.at("01-02")) == []
    assert web.manifest() == dict.fromkeys(CORE, ("01-01 10:00", "01-02", None))
    assert web.passes()[0].future_events is True
    assert not web.plan("01-03").is_empty


def test_later_events_are_seen_and_late_ones_left(spark, tmp_path):
    """The window of two days is empty, in front of an event: it is passed over once."""
    web = SessionPlace(tmp_path, spark, "backfill_limit_days: 2\nlate_loaded: count\n")
    web.add("e1 s1 01-01 10:00", "e2 s1 01-01 20:00", "e9 s9 01-08 10:00")
    web.add(an_event("m1", "s1", "01-01 11:00", user_id="x"))
    assert problems(web.at("02-01")) == []
    assert web.passes()[0].events.later_events is None
    assert problems(web.at("02-01")) == []
    assert web.windows() == ["1 01-01..01-03", "4 01-01 14:00..01-03 20:00"]
    assert web.manifest() == dict.fromkeys(CORE, ("01-01 20:00", "01-03 20:00", "01-03 20:00"))

    web.add("e0 s1 01-01 09:50", "e8 s8 01-01 11:00")
    assert problems(web.at("02-01")) == []
    assert web.windows()[-1] == "4 01-03 14:00..01-05 20:00"
    assert web.stored("base_events_this_run", "event_id") == []


def test_a_function_may_be_tagged(place):
    web = place()
    web.write("models/m/m7.py", FUNCTION)
    for _ in range(2):
        assert problems(web.at("01-04", "web m5 m7")) == []
    assert [row[:1] for row in web.rows("m7")] == [("e1",), ("e2",), ("e3",)]
    assert web.at("01-04", "web m5 m7").plan.is_empty

    web.add("e0 s2 01-01 21:00", "e4 s2 01-03 05:00")
    assert problems(web.at("01-05", "web m5 m7")) == []
    assert [row[:1] for row in web.rows("m7")] == [(f"e{n}",) for n in range(5)]
    assert web.rows("m7") == web.rows("m5")
    assert web.manifest()["m7"] == web.manifest()["m5"]
