"""The tables of packages as models, and models that are tagged into a package."""

import pytest

from fakes.session_files import PATH, files

EVENTS = "select event_id, session_identifier from {{ ref('web_base_events_this_run') }}"
MERGED = "{{ config(materialized='merge', unique_key='event_id', tags=['web_incremental']) }} "


def model(name, sql):
    return {f"models/{name}.sql": sql}


def test_the_tables_of_a_package_are_models_of_the_project(load):
    found = load(files("schema: derived\ntags: [daily]\ndescription: Visits\n"))

    sessions = found.models["web_sessions"]
    assert str(sessions.table) == "derived.web_sessions"
    assert sessions.depends_on == ("web_base_events_this_run", "web_base_sessions_this_run")
    assert sessions.order_after == ("web_user_mapping",)
    assert (sessions.tags, sessions.description) == (("web_incremental", "daily"), "Visits")
    assert sessions.layout.partition_by == ("session_start_date",)
    assert (str(sessions.where), sessions.strategy_name) == ("sessions/web.yml:2:7", "sessions")
    assert found.models["web_base_new_event_limits"].is_view
    lifecycle = found.models["web_base_sessions_lifecycle_manifest"]
    assert [str(name) for name in lifecycle.inputs] == ["raw.events", "web_base_new_event_limits"]


def test_options_that_decide_rows_are_in_the_fingerprint_and_those_of_cost_are_not(load):
    def fingerprints(text):
        found = load(files(text)).models
        return {name: each.fingerprint.canonical for name, each in found.items()}

    usual = fingerprints("")
    assert fingerprints("backfill_limit_days: 7\nskip_unchanged: false\n") == usual
    assert fingerprints("session_id: 'domain_sessionid'\n") == usual
    assert fingerprints("session_id: upper( domain_sessionid ) -- why\n") == fingerprints(
        "session_id: UPPER(domain_sessionid)\n"
    )
    assert fingerprints("heartbeat: 20\n")["web_users"] != usual["web_users"]


def test_a_tagged_model_that_merges_is_tracked(load):
    found = load({**files(), **model("m5", MERGED + EVENTS)})

    assert found.findings == ()
    assert found.models["m5"].depends_on == ("web_base_events_this_run",)


def test_a_tagged_model_merges(findings):
    append = MERGED.replace("materialized='merge', unique_key='event_id'", "materialized='table'")

    assert findings({**files(), **model("pv", append + EVENTS)}, hints=True) == [
        (
            "models/pv.sql:1: error: strategy-not-incremental: 'pv' is tagged web_incremental with "
            "strategy table\n  hint: use merge with a unique_key"
        )
    ]


def test_a_reader_of_the_events_of_a_run_is_tagged(findings):
    (found,) = findings({**files(), **model("pv", EVENTS)})

    assert found.startswith("models/pv.sql:1: error: untracked-consumer: 'pv' reads ")


def test_a_tagged_model_reads_the_events_itself_or_through_another_tagged_one(findings):
    through = MERGED + "select event_id from {{ ref('m5') }}"
    nothing = MERGED + "select 1 as event_id"
    both = {**files(), **model("m5", MERGED + EVENTS), **model("m6", through)}

    assert findings(both) == []
    (found,) = findings({**files(), **model("m7", nothing)})
    assert "tagged-without-events: 'm7' is tagged web_incremental and reads nothing of" in found


def test_a_tagged_model_reads_the_events_of_a_run_whole(findings):
    windowed = MERGED.replace("unique_key", "time_column='at', unique_key")
    sql = EVENTS.replace("event_id,", "event_id, collector_tstamp as at,")
    function = """\
from penstock import incremental_table
@incremental_table(time_column="at", unique_key="event_id", tags=["web_incremental"]{more})
def m7(web_base_events_this_run):
    return web_base_events_this_run
"""
    whole = ', window_on={"web_base_events_this_run": None}'

    (found,) = findings({**files(), "models/m7.py": function.format(more="")})
    assert findings({**files(), "models/m7.py": function.format(more=whole)}) == []
    (same,) = findings({**files(), **model("m6", windowed + sql)})

    said = "reads web_base_events_this_run only where it is new, and runs read events again"
    assert found == f"models/m7.py:3: error: windowed-events: 'm7' {said}"
    assert same == f"models/m6.sql:1: error: windowed-events: 'm6' {said}"


def test_a_package_tracks_something(findings, load):
    alone = files("modules: []\n")

    assert findings(alone) == [
        (
            "sessions/web.yml:4:1: error: no-tracked-models: modules is empty and no enabled "
            "model is tagged 'web_incremental'"
        )
    ]
    assert load({**alone, **model("m5", MERGED + EVENTS)}).packages["web"].modules == ()


def test_a_model_of_the_name_of_a_table_is_a_finding(findings):
    (found,) = findings({**files(), **model("web_sessions", "select 1 as x")})

    assert "duplicate-model: 'web_sessions' is defined in" in found


def test_a_package_may_read_a_model_but_not_in_a_circle(findings):
    clean = model("clean", "{{ config(materialized='table') }} select * from raw.events")
    said = {PATH: files()[PATH].replace("raw.events", "clean")}

    assert findings({**files(), **clean, **said}) == []
    circle = model("clean", "select * from {{ ref('web_sessions') }}")
    assert any("dependency-cycle" in each for each in findings({**files(), **circle, **said}))


def test_checks_stand_under_the_names_of_tables(load, findings):
    said = "checks:\n  sessions:\n    - {type: not_null, columns: [session_identifier]}\n"
    found = load(files(said)).models

    assert [check.name for check in found["web_sessions"].checks.all] == [
        "not_null_session_identifier"
    ]
    assert findings(files("checks:\n  session: []\n"), hints=True) == [
        (
            "sessions/web.yml:5:3: error: unknown-key: package 'web' has no table 'session'\n"
            "  hint: did you mean 'sessions'?"
        )
    ]


@pytest.mark.parametrize("line", ["    - {type: nope}\n"])
def test_what_is_wrong_with_a_check_is_told_at_its_line(findings, line):
    (found,) = findings(files(f"checks:\n  sessions:\n{line}"))

    assert found.startswith("sessions/web.yml:6:")


def test_only_a_pass_replaces_rows_by_their_session(findings):
    replacing = MERGED.replace("unique_key=", "replace_by='session_identifier', unique_key=")

    assert findings({**files(), **model("pv", replacing + EVENTS)}) == []
    untagged = replacing.replace(", tags=['web_incremental']", "") + (
        "select event_id, session_identifier from {{ ref('web_sessions') }}"
    )
    assert findings({**files(), **model("pv", untagged)}, hints=True) == [
        (
            "models/pv.sql:1: warning: option-without-effect: 'pv' has replace_by, and no session "
            "package tracks it\n  hint: tag it web_incremental"
        )
    ]
