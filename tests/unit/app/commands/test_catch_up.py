"""Catching up is run after run; being made anew is one run after all was forgotten."""

import pytest

from fakes.package_workshop import HEAD, WEB, PackageWorkshop
from fakes.requests import a_run
from fakes.session_place import problems
from fakes.session_world import at
from penstock.app.commands.catch_up import catch_up
from penstock.app.commands.plan import preview
from penstock.app.commands.query import bound_now
from penstock.app.commands.run import run
from penstock.app.commands.sessions import sessions_export
from penstock.app.events import Said
from penstock.core.errors import QueryError, TableError, UsageError
from penstock.project.first_pass import parse_user_query

CORE = ("page_views", "sessions", "user_mapping", "users")
BROKEN = QueryError("spark-divide-by-zero", "divided by zero")


def web_of(tmp_path, keys=""):
    return PackageWorkshop(tmp_path, keys)


def caught_up(web, now, *select, **asked):
    request = a_run(select or ("web",), as_of=at(now), catch_up=True, **asked)
    return catch_up(web.services(), request)


def test_windows_follow_each_other_until_the_last_ends_now(tmp_path):
    web = web_of(tmp_path, "backfill_limit_days: 2\n")

    report = caught_up(web, "01-06")

    assert (problems(report), report.notes) == ([], ("caught up: 2 runs",))
    assert web.windows() == [
        "package 1 01-01..01-03",
        "package 4 01-01 14:00..01-03 20:00",
    ]


def test_max_windows_ends_it_before(tmp_path):
    web = web_of(tmp_path, "backfill_limit_days: 2\n")

    report = caught_up(web, "01-06", max_windows=1)

    assert (report.notes, len(web.passes)) == (("web: not caught up after 1 run",), 1)


def test_with_seed_limits_a_window_that_repeats_ends_it(tmp_path):
    web = web_of(tmp_path, "backfill_limit_days: 2\nstrict_seed_limits: true\n")
    web.later = 1

    report = caught_up(web, "01-06")

    assert report.notes[-1] == "web: not caught up after 2 runs"


def test_a_failed_window_ends_it_and_the_command_goes_on_with_it(tmp_path):
    web = web_of(tmp_path)
    web.lake.trouble("web_sessions", "commit", BROKEN)

    report = caught_up(web, "01-02")

    assert (report.succeeded, report.resume) == (
        False,
        "penstock run --select web --catch-up --as-of 2021-01-02",
    )


def test_a_selection_without_packages_cannot_catch_up(tmp_path):
    web = web_of(tmp_path)
    web.has_files({"models/one.sql": "select 1 as a"})

    with pytest.raises(UsageError, match="none is selected"):
        caught_up(web, "01-02", "one")


def test_what_failed_is_resumed_by_its_package_or_by_what_was_selected(tmp_path):
    web = web_of(tmp_path)
    web.lake.trouble("web", "commit", BROKEN)
    assert web.at("01-02").resume.startswith("penstock run --select web --as-of")
    web.tagged("m5")
    web.lake.trouble("web", "commit", BROKEN)
    assert web.at("01-02", "m5").resume.startswith("penstock run --select m5 --as-of")


def test_a_refresh_forgets_all_rows_and_the_next_commits_replace_their_tables(tmp_path):
    web = web_of(tmp_path, "allow_refresh: true\n")
    assert problems(web.at("01-02")) == []
    asked = []

    def ask(packages):
        asked.extend(packages)
        return True

    request = a_run(("web",), as_of=at("01-03"), full_refresh=True)
    planned = preview(web.services(), request)
    report = run(web.services(), request, lambda _: None, ask)

    assert (asked, problems(report)) == (["web"], [])
    assert web.windows() == ["package 1 01-01..01-02", "package 1 01-01..01-03"]
    kept = [each.model for each in planned.report.plan.steps if each.initial]
    assert kept == [
        "web_base_sessions_lifecycle_manifest",
        "web_base_quarantined_sessions",
        *(f"web_{each}" for each in ("page_views", "user_mapping", "sessions", "users")),
    ]
    assert web.store.sessions.overwrites("web") == frozenset()
    assert web.manifest() == dict.fromkeys(CORE, ("01-01 20:00", "01-03", None))


def test_a_refusal_leaves_everything_as_it_is(tmp_path):
    web = web_of(tmp_path, "allow_refresh: true\n")
    web.at("01-02")
    before = web.manifest()

    request = a_run(("web",), as_of=at("01-03"), full_refresh=True)
    report = run(web.services(), request, lambda _: None, lambda _: False)

    assert (report.aborted, web.manifest(), len(web.passes)) == (True, before, 1)


def test_a_full_refresh_of_the_project_leaves_packages_and_tagged_models_and_says_so(tmp_path):
    web = web_of(tmp_path, "allow_refresh: true\n")
    web.tagged("m5")
    web.at("01-02")
    web.append()

    report = web.at("01-03", full_refresh=True)

    assert web.windows()[-1] == "package 4 01-01 14:00..01-03"
    assert not any(each.initial for each in report.plan.steps)
    (note,) = report.notes
    assert note == (
        "web is not rebuilt: a full refresh has to name it; "
        "penstock run --select web --full-refresh"
    )


def test_a_run_says_its_limits_before_anything_else(tmp_path):
    web, said = web_of(tmp_path), []

    web.run("web", listener=said.append, as_of=at("01-02"))

    assert [each.text[8:] for each in said if isinstance(each, Said)] == [
        " + web: First run: no model has processed anything yet",
        " + web: Processing data between 2021-01-01 00:00:00 and 2021-01-02 00:00:00",
    ]


def codes(report):
    return [note.split(": ")[2] for note in report.notes]


def test_a_run_warns_of_what_waits(tmp_path):
    web = web_of(tmp_path, "strict_seed_limits: true\nbackfill_limit_days: 1\n")
    web.greatest = "01-01 00:00"
    web.at("01-03")
    web.later = 1
    assert codes(web.at("01-03")) == ["window-frozen"]

    ahead = web_of(tmp_path / "ahead")
    ahead.later = 1
    assert codes(ahead.at("01-02")) == ["events-in-the-future"]


def test_a_change_of_options_is_warned_of_once_rows_were_made_with_others(tmp_path):
    web = web_of(tmp_path)
    web.at("01-02")
    web.has_files({WEB: f"{HEAD}max_session_days: 5\n"})

    assert codes(web.at("01-03")) == ["options-changed"]


def test_events_without_a_column_that_is_needed_stop_the_run_before_anything_is_written(tmp_path):
    web = web_of(tmp_path, "timestamp: at\n")

    report = web.at("01-02")

    said = report.results[0].error.render()
    assert said.startswith("sessions/web.yml:6:1: unknown-column: raw.events has no 'at'")
    assert web.manifest() == {}


def test_the_view_of_limits_is_what_the_last_pass_read(tmp_path):
    web = web_of(tmp_path)
    table = "derived.web_base_new_event_limits"

    def shown():
        services = web.services()
        bound = bound_now(
            services, parse_user_query(services.project, f"select * from {table}", {})
        )
        return bound.relations[0].read.sql

    assert shown().endswith("0 AS state, '' AS run_id WHERE false")
    web.at("01-02")
    assert shown() == (
        "SELECT TIMESTAMP '2021-01-01T00:00:00.000000Z' AS lower_limit, "
        "TIMESTAMP '2021-01-02T00:00:00.000000Z' AS upper_limit, 1 AS state, "
        f"'{web.passes[0].run}' AS run_id"
    )


def test_an_exported_manifest_can_be_asked_and_no_other_table_is_replaced_by_it(tmp_path):
    web = web_of(tmp_path)
    web.at("01-02")
    table = "derived.web_incremental_manifest"
    with pytest.raises(TableError, match="never exported"):
        bound_now(web.services(), parse_user_query(web.project, f"select * from {table}", {}))

    web.lake.land(web.project.uri_of(web.project.packages["web"].manifest_table), "model string")
    with pytest.raises(TableError, match="holds something else"):
        sessions_export(web.services(), "web")


def test_a_release_of_a_session_that_is_held_no_more_is_done_with_the_next_run(tmp_path):
    web = web_of(tmp_path)
    web.store.sessions.release("web", ("s9",), "ann")

    web.at("01-02")

    assert web.store.sessions.releases("web") == ()


def test_a_model_that_is_new_has_a_pass_of_its_own_before_the_others_go_on(tmp_path):
    web = web_of(tmp_path, "backfill: per_model\n")
    web.at("01-02")
    web.append()
    web.tagged("m5")

    report = web.at("01-03")

    assert problems(report) == []
    made = [(each.key, each.initial) for each in report.plan.steps if each.model == "m5"]
    assert made == [("m5 backfill", True), ("m5 head", False)]
    assert web.windows()[1:] == ["backfill 2 01-01..01-01 20:00", "head 4 01-01 14:00..01-03"]
    assert web.manifest()["m5"] == ("01-01 20:00", "01-03", None)


def test_a_refresh_that_fails_is_gone_on_with_by_an_ordinary_run(tmp_path):
    web = web_of(tmp_path, "allow_refresh: true\n")
    web.at("01-02")
    web.lake.trouble("web_sessions", "commit", BROKEN)

    failed = web.at("01-03", "web", full_refresh=True)
    again = web.at("01-03")

    assert failed.resume == "penstock run --select web --as-of 2021-01-03"
    assert web.windows()[1:] == ["package 1 01-01..01-03", "package 2 01-01..01-01 20:00"]
    assert problems(again) == []
    anew = {each.model.removeprefix("web_") for each in again.plan.steps if each.initial}
    assert anew == {"sessions", "users"}
    assert web.store.sessions.overwrites("web") == frozenset()
