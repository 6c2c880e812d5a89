"""The columns of page views and sessions."""

from fakes.session_lake import SCROLLED
from fakes.session_sql import a_run
from penstock.core.columns.schema import Schema
from penstock.core.sessions.options import CarriedColumn, Passthrough
from penstock.strategies.sessions.modules import has_scroll, module_events, page_views, sessions


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
