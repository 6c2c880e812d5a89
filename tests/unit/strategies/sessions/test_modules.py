"""The columns of page views and sessions."""

from fakes.session_lake import SCROLLED
from fakes.session_sql import a_run
from penstock.core.columns.schema import Schema
from penstock.core.sessions.options import (
    CarriedColumn,
    Channel,
    Conversion,
    FunnelStep,
    Passthrough,
)
from penstock.strategies.sessions.modules import (
    channel,
    has_scroll,
    module_events,
    page_views,
    session_aggregates,
    sessions,
)


def test_scroll_columns_are_there_where_all_that_they_need_is():
    assert not has_scroll(a_run())
    found = page_views(a_run(schema=SCROLLED)).columns

    assert [name for name in found if name.endswith("_scrolled")] == [
        "horizontal_pixels_scrolled",
        "vertical_pixels_scrolled",
        "horizontal_percentage_scrolled",
        "vertical_percentage_scrolled",
    ]
    assert not has_scroll(a_run(schema=Schema(SCROLLED.columns[:-1])))


def test_views_of_bots_are_no_first_views_and_scroll_as_others():
    found = page_views(a_run(schema=SCROLLED, bot_pattern="bot")).sql

    assert found.count("NOT _ps_bot") == 2  # the first view, and its place
    assert found.count("FILTER (WHERE doc_width > 0 AND doc_height > 0), 0), ") == 4


def test_what_is_carried_over_stands_behind_the_formulas():
    carried = Passthrough(
        sessions_first=(CarriedColumn("x", "upper(app_id)"),),
        sessions_last=(CarriedColumn("x", "app_id"),),
        sessions_agg=(CarriedColumn("n", "count(*)"),),
    )
    found = list(sessions(a_run(passthrough=carried)).columns)

    assert found[found.index("last_page_url") + 1 :] == [
        "app_id",
        "x",
        "last_x",
        "n",
        "stitched_user_id",
        "session_start_date",
        "run_id",
    ]


def test_without_known_users_no_column_of_them_is_read():
    run = a_run(user_stitching_id=None)

    assert "CAST(NULL AS STRING) AS _ps_known" in module_events(run)
    assert "user_id" in sessions(run).columns
    assert "penstock_user_mapping" not in sessions(run).sql


def test_an_event_without_a_page_url_column_has_none():
    run = a_run()
    less = Schema(tuple(each for each in run.schema.columns if each.name != "page_url"))

    assert "CAST(NULL AS STRING) AS _ps_url" in module_events(a_run(schema=less))
    assert "CAST((page_url) AS STRING) AS _ps_url" in module_events(run)


def test_a_view_ends_with_its_last_event_but_by_the_rules_of_the_seed_is_as_long_as_that():
    latest, seed = "greatest(p.v._ps_d, p.last)", "coalesce(p.last, p.v._ps_d)"

    for compat, end in ((None, latest), ("snowplow", seed)):
        sql = page_views(a_run(compat=compat)).sql
        assert f"{end} AS `end_tstamp`" in sql


def test_a_clock_that_no_event_has_is_null():
    gone = page_views(a_run(derived_tstamp="gone")).sql

    assert "coalesce(CAST(NULL AS TIMESTAMP), " in gone
    assert "CAST(NULL AS TIMESTAMP)" not in page_views(a_run()).sql


BUYS = Conversion("buy", "event_name = 'buy'", "amount")
ASKS = Conversion("ask", "event_name = 'ask'")


def test_conversions_are_counted_dated_and_added_up():
    found = session_aggregates(a_run(conversions=(BUYS, ASKS)))

    assert found == {
        "cv_buy_volume": "count_if(event_name = 'buy')",
        "cv_buy_converted": "coalesce(bool_or(event_name = 'buy'), false)",
        "cv_buy_first_conversion": "min(CASE WHEN event_name = 'buy' THEN _ps_d END)",
        "cv_buy_total": "coalesce(sum(CASE WHEN event_name = 'buy' THEN amount END), 0)",
        "cv_ask_volume": "count_if(event_name = 'ask')",
        "cv_ask_converted": "coalesce(bool_or(event_name = 'ask'), false)",
        "cv_ask_first_conversion": "min(CASE WHEN event_name = 'ask' THEN _ps_d END)",
    }


def test_a_step_of_the_funnel_comes_not_before_the_one_above():
    run = a_run(funnel=(FunnelStep("see", "a"), FunnelStep("take", "b")))
    found = sessions(run).columns

    assert found["funnel_see_tstamp"] == "array_min(w.step0)"
    assert found["funnel_take_tstamp"] == (
        "array_min(filter(w.step1, t1 -> t1 >= array_min(w.step0)))"
    )
    assert found["funnel_step"] == (
        "CASE WHEN array_min(filter(w.step1, t1 -> t1 >= array_min(w.step0))) IS NOT NULL "
        "THEN 'take' WHEN array_min(w.step0) IS NOT NULL THEN 'see' END"
    )
    assert "collect_set(CASE WHEN b THEN _ps_d END) AS step1" in sessions(run).source


def test_the_first_rule_that_holds_names_the_channel_of_the_first_event():
    rules = (Channel("Mail", "m = 'mail'"), Channel("Bob's", "m like '%{2}%'"))
    run = a_run(channels=rules)

    (found,) = channel(run)
    assert (found.name, found.sql) == (
        "channel",
        "CASE WHEN m = 'mail' THEN 'Mail' WHEN m like '%{2}%' THEN 'Bob\\'s' ELSE 'Unassigned' END",
    )
    assert sessions(run).columns["channel"].startswith("w.f._ps_x")
    assert channel(a_run()) == ()


def test_columns_of_goals_are_those_that_files_are_checked_against():
    run = a_run(
        conversions=(BUYS, ASKS),
        funnel=(FunnelStep("see", "a"),),
        channels=(Channel("Mail", "true"),),
    )
    made = [name for name in sessions(run).columns if name not in sessions(a_run()).columns]

    assert sorted(made) == sorted(run.package.options.goal_columns)
