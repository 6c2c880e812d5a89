"""What is asked of packages beside a run: to catch up, to be made anew, to show what they hold."""

from contextlib import closing

import pytest
from deltalake import DeltaTable

from fakes.place import PROJECT
from fakes.requests import a_run
from fakes.session_place import HEAD, SessionPlace, problems
from fakes.session_world import at
from penstock.app.commands.catch_up import catch_up
from penstock.app.commands.query import query
from penstock.app.commands.sessions import sessions_export

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
KEPT = ("base_sessions_lifecycle_manifest", "base_quarantined_sessions")
MODULES = ("page_views", "sessions", "user_mapping", "users")
NARROW = """\
modules: [page_views]
session_stitching: false
quarantine: false
"""


def asked(web, use_case, *words):
    with closing(web.services()) as services:
        return use_case(services, *words)


def test_a_package_is_made_anew_and_shows_its_limits_and_its_manifest(place):
    web = place("one")
    asked(web, sessions_export, "web")
    web.package("allow_refresh: true\n")

    assert problems(web.at("01-03", full_refresh=True)) == []

    assert web.windows()[-1] == "1 01-01..01-03"
    for part in (*KEPT, *MODULES):
        made = DeltaTable(str(web.folder(part))).history()
        assert [each["operation"] for each in made] == ["CREATE OR REPLACE TABLE AS SELECT"] * 2
    assert web.stored("sessions", "session_identifier", "total_events") == [("s1", 1), ("s2", 2)]
    assert [row[0] for row in web.rows("m5")] == ["e1", "e2", "e3"]
    assert {*web.manifest().values()} == {("01-02 01:00", "01-03", None)}
    assert web.at("01-04").plan.is_empty

    found = asked(web, query, "select * from derived.web_base_new_event_limits", 9)
    assert [row[:2] for row in found.rows] == [("2021-01-01 00:00:00", "2021-01-03 00:00:00")]
    asked(web, sessions_export, "web")
    rows = asked(web, query, "select model from derived.web_incremental_manifest order by 1", 9)
    assert [row[0] for row in rows.rows] == ["m5", *(f"web_{each}" for each in MODULES)]
    assert web.commits_of("incremental_manifest") == 2


def test_catching_up_is_run_after_run(spark, tmp_path):
    web = SessionPlace(tmp_path, spark, f"{NARROW}backfill_limit_days: 20\n")
    web.add("e1 s1 01-01 10:00", "e2 s2 02-20 10:00")
    request = a_run(("web",), as_of=at("03-01"), catch_up=True)

    stopped = asked(web, catch_up, a_run(("web",), as_of=at("03-01"), catch_up=True, max_windows=1))
    report = asked(web, catch_up, request)

    assert (problems(stopped), stopped.notes) == ([], ("web: not caught up after 1 run",))
    assert (problems(report), report.notes) == ([], ("caught up: 3 runs",))
    assert web.manifest() == {"page_views": ("02-20 10:00", "03-01", None)}
    assert web.windows() == [
        "1 01-01..01-21",
        "4 01-01 04:00..01-21 10:00",
        "4 01-21 04:00..02-10 10:00",
        "4 02-10 04:00..03-01",
    ]
    assert len({each.run for each in web.passes()}) == 4
    assert asked(web, catch_up, request).notes == ("caught up: 0 runs",)

    web.add("e0 s0 01-01 11:00", "e3 s0 01-01 12:00")
    (note,) = web.at("03-02").notes
    assert note.startswith(
        "sessions/web.yml:4:1: warning: events-behind-window: 2 rows of raw.events arrived late: "
        "before 2021-02-20 04:00:00; their sessions were built again\n"
    )


def test_in_a_catalog_the_limits_are_a_view_and_the_tables_are_found_by_name(spark, tmp_path):
    web = SessionPlace(tmp_path, spark, NARROW)
    web.write("sessions/web.yml", (HEAD + NARROW).replace("derived", "s_cat"))
    web.write("penstock.yml", PROJECT.replace("{warehouse", "{catalog: spark_catalog, warehouse"))
    web.add("e1 s1 01-01 10:00")
    try:
        assert problems(web.at("01-02")) == []
        limits = "SELECT state, CAST(upper_limit AS STRING) FROM s_cat.web_base_new_event_limits"
        assert web.sql(limits) == [(1, "2021-01-02 00:00:00")]
        assert web.sql("SELECT count(*) FROM s_cat.web_page_views") == [(1,)]
        asked(web, sessions_export, "web")
        assert web.sql("SELECT model FROM s_cat.web_incremental_manifest") == [("web_page_views",)]

        web.add("e2 s1 01-02 10:00")
        assert problems(web.at("01-03")) == []
        assert web.sql(limits) == [(4, "2021-01-03 00:00:00")]
        assert web.sql("SELECT count(*) FROM s_cat.web_page_views") == [(2,)]
    finally:
        web.sql("DROP SCHEMA IF EXISTS s_cat CASCADE")
