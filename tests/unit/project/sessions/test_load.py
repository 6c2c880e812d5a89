"""Session packages in a project: where they lie, their events, what they ask of them."""

import pytest

from fakes.session_files import EVENTS, HEAD, PATH, SPEC, files, source
from penstock.core.names import InputKind, InputName


def test_the_package_of_the_documentation_loads_without_a_finding(load):
    found = load({PATH: SPEC, "models/sources.yml": source()})
    package = found.packages["web"]

    assert found.findings == ()
    assert package.events == InputName(InputKind.SOURCE, "raw.events")
    assert str(package.models[0].table) == "derived.web_base_new_event_limits"
    assert package.modules == (
        "web_user_mapping",
        "web_page_views",
        "web_sessions",
        "web_users",
    )


def test_other_folders_may_hold_packages(load):
    said = {"penstock.yml": "name: shop\nsession_paths: [web]\n", "web/x.yml": HEAD}

    assert [*load({**said, "models/sources.yml": source()}).packages] == ["web"]


def test_a_folder_that_is_not_there_is_a_finding(findings):
    assert findings({"penstock.yml": "name: shop\nsession_paths: [web]\n"}) == [
        "penstock.yml:2:17: error: bad-value: session_paths: there is no folder 'web'"
    ]


def test_a_package_among_models_is_told_where_it_belongs(findings):
    assert findings({"models/web.yml": HEAD}, hints=True) == [
        (
            "models/web.yml:1:1: error: unknown-key: a session package does not stand among "
            "models\n"
            "  hint: move it into sessions/, or into a folder of session_paths"
        )
    ]


def test_two_packages_of_one_name_are_a_finding(findings):
    assert findings(files(**{"sessions/zweb.yml": HEAD})) == [
        (
            "sessions/zweb.yml:2:7: error: duplicate-model: package 'web' is defined here and at "
            "sessions/web.yml:2:7"
        )
    ]


def test_an_empty_file_is_a_finding(findings):
    assert findings({PATH: "\n"}) == ["sessions/web.yml:1:1: error: empty-file: the file is empty"]


def named(events):
    return files(head=HEAD.replace("raw.events", events))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("raw.events", "source"),
        ("source:raw.events", "source"),
        ("visits", "model"),
        ("ref:visits", "model"),
        ("raw.visits", "model"),
    ],
)
def test_events_are_a_model_or_a_source(load, events, expected):
    model = {"models/visits.sql": "{{ config(schema='raw') }} select * from somewhere"}

    found = load({**named(events), **model})

    assert found.packages["web"].events.kind == expected


def test_events_that_are_a_model_and_a_source_are_told_apart_by_a_word(findings, load):
    model = {"models/x/raw.events.sql": "select * from somewhere"}

    assert findings({**files(), **model}, hints=True) == [
        (
            "sessions/web.yml:3:9: error: ambiguous-reference: 'raw.events' is a model and a "
            "source\n"
            "  hint: write ref:raw or source:raw.events"
        )
    ]
    assert load({**named("ref:raw"), **model}).packages["web"].events.name == "raw"


@pytest.mark.parametrize("events", ["raw.event", "ref:raw.events", "source:visits"])
def test_events_that_nothing_is_called_are_a_finding(findings, events):
    (found,) = findings(named(events))

    assert found.startswith("sessions/web.yml:3:9: error: unknown-reference: events names ")


def test_a_column_that_the_events_lack_is_a_finding_with_the_way_out(findings):
    without = EVENTS.replace("dvce_sent_tstamp timestamp\n", "")

    assert findings(files(columns=without), hints=True) == [
        (
            "sessions/web.yml:3:1: error: unknown-column: raw.events has no 'dvce_sent_tstamp'\n"
            "  hint: set sent_tstamp: null to switch the lateness test off"
        )
    ]
    assert findings(files("sent_tstamp: null\n", columns=without)) == []


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("timestamp: tstamp", "tstamp"),
        ("session_id: sid", "sid"),
        ("user_id: [a, domain_userid]", "a"),
        ("event_id: coalesce(id, '')", "id"),
        ("filters: [x > 1]", "x"),
        ("app_ids: [a]\napp_id: app", "app"),
        ("tie_break: [seq]", "seq"),
        ("event_columns: ['*', b]", "b"),
        ("partition_column: day", "day"),
        ("bot_pattern: bot\nuseragent: agent", "agent"),
        ("user_stitching_id: known", "known"),
        ("derived_tstamp: d", "d"),
        ("page_url: url", "url"),
        ("engaged_when: bought > 1", "bought"),
        ("passthrough: {page_views: [title]}", "title"),
        ("passthrough: {sessions: {agg: {n: max(price)}}}", "price"),
    ],
)
def test_every_key_that_names_a_column_is_held_against_the_events(findings, text, column):
    (found,) = findings(files(text))

    assert f"error: unknown-column: raw.events has no {column!r}" in found


@pytest.mark.parametrize(
    "text",
    [
        "page_view_id: pv\nevent_name: e\nderived_tstamp: d\nmodules: []",
        "engaged_when: bought > 1\nmodules: [page_views]",
        "useragent: agent",
        "app_id: app",
    ],
)
def test_what_no_table_reads_is_not_asked_for(findings, text):
    codes = {each.split(": ")[2] for each in findings(files(text))}

    assert "unknown-column" not in codes


def test_usual_columns_that_may_be_missing_are_no_finding(findings):
    less = EVENTS.replace("etl_tstamp timestamp\n", "").replace("page_url string\n", "")

    assert findings(files(columns=less)) == []


def test_nothing_is_held_against_a_table_that_nobody_described(findings):
    assert findings(files("session_id: anything", columns="")) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "timestamp: collector_date",
            "timestamp is collector_date, which is DATE; it must be TIMESTAMP or TIMESTAMP_NTZ",
        ),
        (
            "partition_column: app_id",
            "partition_column is app_id, which is STRING; it must be DATE",
        ),
    ],
)
def test_columns_have_the_type_that_their_key_asks_for(findings, text, sentence):
    assert findings(files(text)) == [f"sessions/web.yml:4:1: error: wrong-column-type: {sentence}"]


def test_columns_that_penstock_adds_are_not_there_before(findings):
    (found,) = findings(files(columns=EVENTS + "User_Identifier string\n"))

    assert "reserved-column: raw.events has a column 'user_identifier'" in found


def test_columns_that_modules_need_are_carried(findings):
    said = "event_columns: [event_id, user_id, derived_tstamp, event_name]\n"

    assert findings(files(said)) == [
        (
            "sessions/web.yml:4:1: error: module-needs: event_columns leaves 'page_view_id' out, "
            "which page_view_id needs"
        )
    ]


def test_users_take_over_columns_of_sessions(findings):
    said = "passthrough: {users: {first: [app_id], last: [mkt_source]}}"

    (found,) = findings(files(said))

    assert "unknown-column: web_sessions has no 'mkt_source'" in found


def test_expressions_are_kept_by_the_cache(load, tmp_path, monkeypatch):
    said = files("session_id: [domain_sessionid]\n")
    load(said, use_cache=True)
    monkeypatch.setattr("penstock.project.entities.expressions.facts_of", None)

    assert load(said, use_cache=True).packages["web"].options.session_id == ("domain_sessionid",)


def test_a_file_that_cannot_be_read_is_not_said_to_be_empty(findings, tmp_path):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "web.yml").write_bytes(b"\xff\xfe")

    assert findings({}) == ["sessions/web.yml:1: error: not-utf8: byte 0xff is not UTF-8"]
