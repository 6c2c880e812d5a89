"""Columns that a package adds: conversions, a funnel, channels, sums of users."""

import pytest

from fakes.session_files import EVENTS, files
from penstock.core.sessions.options import CarriedColumn, Channel, Conversion, FunnelStep, UsersBy

GOALS = """\
conversions:
  - {name: buy, when: "event_name = 'buy'", value: amount}
  - {name: ask, when: "event_name = 'ask'"}
funnel:
  - {step: see, when: "event_name = 'page_view'"}
  - {step: buy, when: "event_name = 'buy'"}
channels:
  - {channel: Mail, when: "mkt_medium = 'mail'"}
users_by: stitched
passthrough:
  users: {agg: {longest: max(absolute_time_in_s)}}
"""


def found(findings, text, **more):
    """Give the findings of a package, without the path."""
    return [each.removeprefix("sessions/web.yml:") for each in findings(files(text, **more))]


def test_goals_are_read_as_they_are_written(load):
    read = load(files(GOALS, columns="")).packages["web"].options

    assert read.conversions == (
        Conversion("buy", "event_name = 'buy'", "amount"),
        Conversion("ask", "event_name = 'ask'"),
    )
    assert read.funnel == (
        FunnelStep("see", "event_name = 'page_view'"),
        FunnelStep("buy", "event_name = 'buy'"),
    )
    assert read.channels == (Channel("Mail", "mkt_medium = 'mail'"),)
    assert read.users_by is UsersBy.STITCHED
    assert read.passthrough.users_agg == (CarriedColumn("longest", "max(absolute_time_in_s)"),)
    assert read.goal_columns == (
        *("cv_buy_volume", "cv_buy_converted", "cv_buy_first_conversion", "cv_buy_total"),
        *("cv_ask_volume", "cv_ask_converted", "cv_ask_first_conversion"),
        *("funnel_step", "funnel_see_tstamp", "funnel_buy_tstamp", "channel"),
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "conversions: [{name: Buy, when: x}]",
            "4:15: error: bad-value: conversions: 'Buy' cannot begin the name of a column",
        ),
        (
            "funnel: [{step: a, when: x}, {step: a, when: y}]",
            "4:30: error: bad-value: funnel has 'a' twice",
        ),
        (
            "conversions: [{name: buy}]",
            "4:15: error: missing-key: 'when' is missing",
        ),
        (
            "channels: [{channel: Mail, when: max(x)}]",
            (
                "4:34: error: bad-expression: conversions, funnel and channels is 'max(x)': "
                "max(x) reads many rows"
            ),
        ),
        (
            "channels: [{channel: Mail, when: rand() > 1}]",
            ("4:34: error: volatile-expression: conversions, funnel and channels calls rand()"),
        ),
        (
            "passthrough: {users: {agg: {n: page_views}}}",
            (
                "4:32: error: bad-expression: passthrough.users.agg is 'page_views', "
                "which reads one event"
            ),
        ),
        (
            "modules: [page_views]\nfunnel: [{step: a, when: x}]",
            "5:9: error: module-needs: funnel are columns of sessions, which modules leaves out",
        ),
        (
            "users_by: stitched\nsession_stitching: false",
            (
                "4:11: error: module-needs: users_by is stitched, which needs users, and sessions "
                "with session_stitching"
            ),
        ),
        (
            "passthrough: {sessions: {agg: {channel: max(x)}}}\nchannels: [{channel: a, when: x}]",
            "4:41: error: duplicate-column: web_sessions has a column 'channel' already",
        ),
        (
            (
                "passthrough: {users: {agg: {cv_buy_volume: max(page_views)}}}\n"
                "conversions: [{name: buy, when: x}]"
            ),
            "4:44: error: duplicate-column: web_users has a column 'cv_buy_volume' already",
        ),
    ],
)
def test_what_cannot_be_built_is_a_finding_at_its_place(findings, text, sentence):
    assert sentence in found(findings, text, columns="")


CONDITIONAL = """\
passthrough:
  page_views: [{title: {sql: page_title, when: "page_title <> ''"}}]
  sessions: {first: [mkt_source, {amount: {when: "event_name = 'buy'"}}]}
  users: {last: [{paid: {sql: amount, when: "amount > 0"}}]}
"""


def test_a_condition_stands_beside_the_sql_of_its_column_or_its_name(load):
    carried = load(files(CONDITIONAL, columns="")).packages["web"].options.passthrough

    assert carried.page_views == (CarriedColumn("title", "page_title", when="page_title <> ''"),)
    assert carried.sessions_first == (
        CarriedColumn("mkt_source", "mkt_source"),
        CarriedColumn("amount", "amount", when="event_name = 'buy'"),
    )
    assert carried.users_last == (CarriedColumn("paid", "amount", when="amount > 0"),)


def test_a_comment_in_sql_ends_with_its_line(load):
    said = "passthrough: {page_views: [{a: app_id -- b}]}\nfilters: [app_id = 'c' -- d]\n"
    said += "conversions: [{name: e, when: app_id = 'f' -- g}]\nview_events: [h--i]\n"
    options = load(files(said, columns="")).packages["web"].options

    assert options.passthrough.page_views == (CarriedColumn("a", "app_id -- b\n"),)
    assert options.filters == ("app_id = 'c' -- d\n",)
    assert options.conversions == (Conversion("e", "app_id = 'f' -- g\n"),)
    assert options.view_events == ("h--i",)


def test_a_condition_counts_as_code(load):
    one, other = (
        load(files(text, columns="")).models["web_sessions"].fingerprint
        for text in (CONDITIONAL, CONDITIONAL.replace("'buy'", "'ask'"))
    )

    assert one != other


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "passthrough: {page_views: [{a: {sql: b}}]}",
            "4:32: error: missing-key: 'when' is missing",
        ),
        (
            "passthrough: {page_views: [{a: {of: b, when: c}}]}",
            "4:33: error: unknown-key: unknown key 'of'",
        ),
        (
            "passthrough: {sessions: {first: [{a: {when: max(b)}}]}}",
            "4:38: error: bad-expression: passthrough.first is 'max(b)': max(b) reads many rows",
        ),
        (
            "passthrough: {sessions: {agg: {a: {when: b}}}}",
            "4:31: error: bad-value: passthrough.sessions.agg is a mapping; it must be a mapping",
        ),
    ],
)
def test_a_condition_that_cannot_be_built_is_a_finding(findings, text, sentence):
    assert sentence in "\n".join(found(findings, text, columns=""))


def test_conditions_read_events_and_those_of_users_read_sessions(findings):
    said = "passthrough: {sessions: {first: [{a: {sql: event_id, when: b}}]}}"
    users = "passthrough: {users: {first: [{a: {sql: user_id, when: b}}]}}"

    both = (*found(findings, said), *found(findings, users))
    assert [each.split("error: ")[1] for each in both] == [
        "unknown-column: raw.events has no 'b'",
        "unknown-column: web_sessions has no 'b'",
    ]


def test_sums_of_users_read_columns_of_sessions(findings):
    said = "passthrough: {users: {agg: {n: sum(page_views), m: sum(amount)}}}"

    assert found(findings, said) == ["4:52: error: unknown-column: web_sessions has no 'amount'"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("session_timeout: 0s", "4:18: error: bad-value: session_timeout is '0s'; it must be"),
        (
            "session_timeout: 30m\nsession_id: a",
            "5:13: error: conflicting-settings: session_id is written, and session_timeout finds",
        ),
        (
            "session_timeout: 4 days",
            "4:18: error: bad-value: session_timeout is 4 days, 0:00:00, longer than",
        ),
        (
            "session_timeout: 30m\nquarantine: true",
            "5:13: error: conflicting-settings: quarantine is on, and with session_timeout a long",
        ),
        (
            "session_timeout: 30m\ncompat: snowplow",
            "4:18: error: conflicting-settings: compat: snowplow has no session_timeout",
        ),
        (
            "session_timeout: 30m\nuser_of_session: max",
            "5:18: warning: option-without-effect: user_of_session has no effect: with",
        ),
    ],
)
def test_a_timeout_stands_alone(findings, text, sentence):
    (only,) = found(findings, text, columns="")

    assert only.startswith(sentence)


def test_with_a_timeout_events_need_no_session_id(load, findings):
    columns = "\n".join(
        line for line in EVENTS.splitlines() if not line.startswith("domain_sessionid")
    )

    assert found(findings, "session_timeout: 30 minutes", columns=columns) == []
    read = load(files("session_timeout: 30 minutes", columns=columns)).packages["web"]
    assert (str(read.options.session_timeout), read.options.quarantine) == ("0:30:00", False)


def test_options_of_this_release_change_no_fingerprint_until_they_are_used(load):
    def fingerprint(text):
        return load(files(text, columns="")).packages["web"].fingerprint

    assert fingerprint("users_by: visitor\nfunnel: []\nsession_timeout: null") == fingerprint("")
    assert fingerprint("channels: [{channel: a, when: x}]") != fingerprint("")
    assert fingerprint("channels: [{channel: a, when: X}]") == fingerprint(
        "\n\nchannels: [{channel: a, when: X}]"
    )
