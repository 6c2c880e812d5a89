"""One session file: its keys, its variables, and what is wrong with it."""

import pytest

from fakes.session_files import EVENTS, HEAD, PATH, SPEC, files, source
from fakes.session_world import at
from penstock.core.sessions.options import (
    BackfillOrder,
    CarriedColumn,
    LateRows,
    Passthrough,
    SessionOptions,
    SessionTable,
    SessionUser,
)

WRONG = [
    ("timestamp", "[a]", "''"),
    ("derived_tstamp", "1", "''"),
    ("event_id", "[a]", "''"),
    ("session_id", "1", "[]"),
    ("user_id", "{a: b}", "['']"),
    ("created_tstamp", "[a]", "''"),
    ("sent_tstamp", "[a]", "''"),
    ("start_date", "[a]", "2021-13-01"),
    ("backfill_limit_days", "x", "0"),
    ("max_session_days", "x", "0"),
    ("lookback_window_hours", "x", "-1"),
    ("days_late_allowed", "x", "-1"),
    ("session_lookback_days", "x", "0"),
    ("upsert_lookback_days", "x", "-1"),
    ("app_ids", "[1]", "{a: b}"),
    ("app_id", "1", "''"),
    ("allow_null_device_timestamps", "maybe", "3"),
    ("filters", "1", "['']"),
    ("partition_column", "1", "''"),
    ("partition_pad_days", "x", "-1"),
    ("tie_break", "1", "['']"),
    ("event_columns", "1", "['']"),
    ("quarantine", "maybe", "3"),
    ("modules", "1", "[page_view]"),
    ("session_stitching", "maybe", "3"),
    ("page_view_stitching", "maybe", "3"),
    ("user_stitching_id", "1", "''"),
    ("event_name", "1", "''"),
    ("page_view_id", "1", "''"),
    ("page_url", "1", "''"),
    ("view_events", "1", "['']"),
    ("ping_events", "1", "['']"),
    ("heartbeat", "x", "0"),
    ("min_visit_length", "x", "-1"),
    ("useragent", "1", "''"),
    ("bot_pattern", "1", "'('"),
    ("engaged_when", "1", "''"),
    ("passthrough", "1", "[a]"),
    ("user_of_session", "1", "last_event"),
    ("backfill", "1", "models"),
    ("strict_seed_limits", "maybe", "3"),
    ("skip_unchanged", "maybe", "3"),
    ("compat", "1", "dbt"),
    ("allow_refresh", "maybe", "3"),
    ("vars", "1", "[a]"),
    ("checks", "1", "[a]"),
]


@pytest.fixture
def package(load):
    def read(text="", **more):
        return load(files(text, columns="", **more)).packages["web"]

    return read


@pytest.fixture
def options(package):
    return lambda text="", **more: package(text, **more).options


def without_paths(findings):
    return [each.removeprefix(f"{PATH}:") for each in findings]


def test_what_is_not_written_is_as_usual(options):
    assert options() == SessionOptions()


def test_the_package_of_the_documentation(load):
    found = load({PATH: SPEC, "models/sources.yml": source()}).packages["web"].options

    assert found == SessionOptions(
        user_id=("contexts_login[0].user", "domain_userid"),
        start_date=at("01-01"),
        partition_column="collector_date",
        app_ids=("shop", None),
        filters=("useragent is not null",),
        passthrough=Passthrough(
            page_views=(CarriedColumn("page_title", "page_title"),),
            sessions_first=(CarriedColumn("mkt_source", "mkt_source"),),
            sessions_last=(CarriedColumn("geo_country", "geo_country"),),
            sessions_agg=(CarriedColumn("purchases", "count_if(event_name = 'purchase')"),),
            users_first=(CarriedColumn("mkt_source", "mkt_source"),),
        ),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("derived_tstamp: null", {"derived_tstamp": None}),
        ("sent_tstamp: null", {"sent_tstamp": None}),
        ("session_lookback_days: null", {"session_lookback_days": None}),
        ("timestamp: null", {}),
        ("session_id: a", {"session_id": ("a",)}),
        ("app_ids: shop", {"app_ids": ("shop",)}),
        ("app_ids: [null]", {"app_ids": (None,)}),
        (
            "modules: [sessions, page_views]",
            {"modules": (SessionTable.PAGE_VIEWS, SessionTable.SESSIONS)},
        ),
        ("modules: [Sessions]", {"modules": (SessionTable.SESSIONS,)}),
        ("start_date: 2021-01-01T02:00:00+02:00", {"start_date": at("01-01")}),
        ("start_date: 2021-01-01 10:00", {"start_date": at("01-01 10:00")}),
        ("backfill: per_model", {"backfill": BackfillOrder.PER_MODEL}),
        (
            "passthrough: {page_views: [{t: upper(page_title)}]}",
            {"passthrough": Passthrough(page_views=(CarriedColumn("t", "upper(page_title)"),))},
        ),
    ],
)
def test_keys_are_read_as_they_are_written(options, text, expected):
    assert options(text) == SessionOptions(**expected)


def test_the_seeds_packages_have_other_defaults_and_what_is_written_wins(options):
    assert options("compat: snowplow") == SessionOptions(
        compat="snowplow",
        strict_seed_limits=True,
        skip_unchanged=False,
        user_of_session=SessionUser.FIRST_RUN,
        late_loaded=LateRows.COUNT,
    )
    assert options("compat: snowplow\nuser_of_session: max").user_of_session == "max"


def test_schemas_say_where_the_tables_lie(package):
    found = package("schema: a\nmanifest_schema: b\nscratch_schema: c\n")

    assert {str(each.kind): each.table.schema for each in found.models} == {
        "module": "a",
        "kept": "b",
        "scratch": "c",
        "view": "c",
    }
    assert str(found.manifest_table) == "b.web_incremental_manifest"


def test_every_key_that_holds_something_wrong_is_one_finding_in_one_report(findings):
    for number in (1, 2):
        lines = [f"{each[0]}: {each[number]}" for each in WRONG]
        found = without_paths(findings(files("\n".join(lines), columns="")))

        assert [(each.split(":")[0], each.split(": ")[2]) for each in found] == [
            (str(line), "bad-value") for line in range(4, 4 + len(WRONG))
        ]


@pytest.mark.parametrize("key", ["strategy", "name", "events"])
def test_what_a_file_must_say(findings, key):
    text = "".join(line for line in HEAD.splitlines(keepends=True) if not line.startswith(key))

    assert f"1:1: error: missing-key: '{key}' is missing" in without_paths(findings({PATH: text}))


@pytest.mark.parametrize("name", ["Web", "1web", "a" * 41, "a-b"])
def test_a_name_begins_those_of_tables(findings, name):
    (found,) = findings(files(head=HEAD.replace("web", name)))

    assert found.startswith(f"sessions/web.yml:2:7: error: bad-value: name is '{name[:80]}'")


def test_an_unknown_key_names_the_nearest_one(findings):
    assert findings(files("lookback_hours: 6"), hints=True) == [
        (
            "sessions/web.yml:4:1: error: unknown-key: unknown key 'lookback_hours'\n"
            "  hint: did you mean 'lookback_window_hours'?"
        )
    ]


@pytest.mark.parametrize("days", ["0", "999999999999"])
def test_a_number_says_what_it_must_be(findings, days):
    assert findings(files(f"backfill_limit_days: {days}")) == [
        (
            f"sessions/web.yml:4:22: error: bad-value: backfill_limit_days is {days}; "
            "it must be an integer from 1 to 300000"
        )
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "session_lookback_days: 20",
            (
                "4:24: error: horizon-too-short: session_lookback_days is 20; windows of 30 "
                "days and sessions of 3 need at least 34"
            ),
        ),
        (
            "max_session_days: 700",
            (
                "4:19: error: horizon-too-short: session_lookback_days is 730; windows of 30 "
                "days and sessions of 700 need at least 731"
            ),
        ),
        (
            "modules: [users]",
            "4:10: error: module-needs: modules names 'users', which is built from 'sessions'",
        ),
        (
            "upsert_lookback_days: 30",
            (
                "4:23: warning: option-without-effect: upsert_lookback_days has no effect: "
                "upserts are exact"
            ),
        ),
        ("session_id: uuid()", "4:13: error: volatile-expression: session_id calls uuid()"),
        (
            "filters: [x > 1, 'y >']",
            (
                "4:18: error: bad-expression: filters is 'y >': it cannot be read as one "
                "expression: Required keyword: 'expression' is missing"
            ),
        ),
        (
            "event_id: max(x)",
            "4:11: error: bad-expression: event_id is 'max(x)': max(x) reads many rows",
        ),
        (
            "passthrough: {sessions: {agg: {n: event_name}}}",
            ("4:35: error: bad-expression: passthrough.agg is 'event_name', which reads one event"),
        ),
        (
            "passthrough: {page_views: [a b]}",
            "4:28: error: bad-value: passthrough.page_views holds what names no column",
        ),
        ("passthrough: {session: {}}", "4:15: error: unknown-key: unknown key 'session'"),
    ],
)
def test_what_does_not_fit_is_a_finding_at_its_place(findings, text, sentence):
    assert without_paths(findings(files(text, columns=""))) == [sentence]


def test_a_variable_is_another_word_for_a_key(options):
    assert options("vars: {snowplow__max_session_days: 5}").max_session_days == 5


def test_a_key_and_a_variable_that_disagree_are_a_finding(findings):
    said = "max_session_days: 3\nvars: {snowplow__max_session_days: 5}"

    assert findings(files(said), hints=True) == [
        (
            "sessions/web.yml:4:19: error: conflicting-settings: max_session_days is 3 but vars "
            "has snowplow__max_session_days 5\n  hint: keep one"
        )
    ]
    assert findings(files(said.replace("5", "3"))) == []


def test_another_variable_is_a_warning(findings):
    assert without_paths(findings(files("vars: {snowplow__zz: 1, other: 2}"))) == [
        "4:8: warning: unknown-variable: snowplow__zz has no effect here"
    ]


def test_a_variable_without_an_effect_names_the_key_that_does_its_job(findings):
    (found,) = findings(files("vars: {snowplow__ua_bot_filter: true}"), hints=True)

    assert found.endswith("snowplow__ua_bot_filter has no effect here\n  hint: use bot_pattern")


def test_variables_of_the_project_count_unless_the_file_says_something(options, findings):
    project = "name: shop\nvars:\n  snowplow__max_session_days: 5\n  snowplow__zz: 1\n"
    said = {"penstock.yml": project}

    assert options(**said).max_session_days == 5
    assert options("max_session_days: 4", **said).max_session_days == 4
    (found,) = findings(files(**said))
    assert found.startswith("penstock.yml:4:17: warning: unknown-variable: snowplow__zz ")


def test_variables_of_the_command_win_over_the_file_and_it_is_said(findings, load):
    said = files("max_session_days: 3\nbackfill_limit_days: 7\n")
    asked = {
        "snowplow__max_session_days": "5",
        "snowplow__backfill_limit_days": 7,
        "snowplow__start_date": "2021-02-01",
        "snowplow__session_stitching": "false",
        "day": "1",
    }
    own = load(said, vars=asked).packages["web"].options

    assert (own.max_session_days, own.backfill_limit_days) == (5, 7)
    assert (own.start_date, own.session_stitching) == (at("02-01"), False)
    assert without_paths(findings(said, vars=asked)) == [
        (
            "2:7: info: set-by-vars: session_stitching is false: "
            "--vars snowplow__session_stitching sets it"
        ),
        "2:7: info: set-by-vars: start_date is 2021-02-01: --vars snowplow__start_date sets it",
        (
            "4:1: info: set-by-vars: max_session_days is 5: "
            "--vars snowplow__max_session_days wins over 3 of the file"
        ),
    ]


def test_without_a_known_user_nothing_is_asked_for_mapped_or_stitched(load, findings):
    less = EVENTS.replace("user_id string\n", "")
    said = files("user_stitching_id: null\n", columns=less)

    assert findings(said) == []
    package = load(said).packages["web"]
    assert package.modules == ("web_page_views", "web_sessions", "web_users")
    assert package.options.stitched == ()
    sessions = package.model(SessionTable.SESSIONS)
    assert sessions is not None
    assert sessions.after == ()


def test_what_needs_a_known_user_says_so_without_one(findings):
    said = "user_stitching_id: null\nmodules: [sessions, user_mapping]\npage_view_stitching: true\n"

    assert without_paths(findings(files(said, columns=""))) == [
        "5:10: error: module-needs: modules names 'user_mapping', and user_stitching_id is null",
        (
            "6:22: warning: option-without-effect: page_view_stitching has no effect: "
            "user_stitching_id is null"
        ),
    ]


def test_carried_columns_have_names_of_their_own(findings):
    said = """\
passthrough:
  page_views: [{start_tstamp: at}, page_title, Collector_Tstamp]
  sessions:
    first: [url, _ps_gone]
    last: [x]
    agg:
      URL: max(url)
      last_X: max(x)
  users:
    first: [first_page_url, mkt_source]
    last: [session_identifier]
"""
    found = [each.split(": ", 3) for each in without_paths(findings(files(said, columns="")))]

    assert [(at, told) for at, _, code, told in found if code == "duplicate-column"] == [
        ("5:31", "web_page_views has a column 'start_tstamp' already"),
        ("5:48", "web_page_views has a column 'Collector_Tstamp' already"),
        ("7:18", "web_sessions has a column '_ps_gone' already"),
        ("10:12", "web_sessions has a column 'URL' already"),
        ("11:15", "web_sessions has a column 'last_X' already"),
        ("13:13", "web_users has a column 'first_page_url' already"),
        ("14:12", "web_users has a column 'last_session_identifier' already"),
    ]


@pytest.mark.parametrize(
    ("variable", "key", "expected"),
    [
        ("snowplow__session_timestamp: load_tstamp", "timestamp", "load_tstamp"),
        ("snowplow__app_id: [a]", "app_ids", ("a",)),
        ("snowplow__allow_null_dvce_tstamps: true", "allow_null_device_timestamps", True),
        ("snowplow__session_sql: upper(a)", "session_id", ("upper(a)",)),
        (
            "snowplow__user_identifiers: [{schema: atomic, field: a}, {schema: ctx, field: b}]",
            "user_id",
            ("a", "ctx[0].b"),
        ),
        (
            (
                "snowplow__session_identifiers: [{schema: atomic, field: a}]\n"
                "  snowplow__session_sql: b"
            ),
            "session_id",
            ("b",),
        ),
    ],
)
def test_variables_with_other_names(options, variable, key, expected):
    assert getattr(options(f"vars:\n  {variable}"), key) == expected


def test_an_identifier_without_a_field_is_a_finding(findings):
    (found,) = findings(files("vars: {snowplow__user_identifiers: [{schema: a}]}"))

    assert "bad-value: user_id holds a mapping; it must be a list of texts" in found
