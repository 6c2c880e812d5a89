"""Users, their mapping, and how the rows of a module take the place of those it had."""

import pytest

from fakes.session_sql import a_run
from penstock.core.columns.schema import Column, Schema
from penstock.core.sessions.options import (
    CarriedColumn,
    Channel,
    Conversion,
    Passthrough,
    SessionTable,
    UsersBy,
)
from penstock.strategies.sessions.users import (
    columns_of,
    module_merge,
    replacement,
    rows_of,
    stitch,
    touched_users,
    user_mapping,
    users,
)

DATES = ["2021-01-01"]


def test_columns_of_users_say_of_which_session_they_are():
    first = tuple(CarriedColumn(name, name) for name in ("mkt", "first_page_url"))
    last = tuple(CarriedColumn(name, name) for name in ("geo", "last_x"))
    found = list(users(a_run(passthrough=Passthrough(users_first=first, users_last=last))).columns)

    assert [name for name in found if name.startswith(("first_", "last_"))] == [
        "first_session_identifier",
        "last_session_identifier",
        "first_page_url",
        "last_page_url",
        "first_mkt",
        "last_geo",
        "last_x",
    ]


def test_rows_that_a_touched_session_no_longer_has_are_deleted():
    run = a_run()
    sql = replacement(run, SessionTable.SESSIONS, rows_of(run, SessionTable.SESSIONS), DATES)

    assert "t.session_start_date IN (DATE '2021-01-01')" in sql
    assert "n.`session_identifier` IS NULL AS _ps_gone, t._ps_lies" in sql
    merge = module_merge(run, SessionTable.SESSIONS, "t", "c", DATES)
    assert "WHEN MATCHED AND s._ps_gone THEN DELETE" in merge
    assert "t.`session_start_date` = s._ps_lies" in merge
    assert "`t`" not in merge


def test_by_the_rules_of_the_seed_no_row_is_deleted_and_the_whole_table_is_matched():
    run = a_run(compat="snowplow")
    sql = replacement(run, SessionTable.SESSIONS, rows_of(run, SessionTable.SESSIONS), DATES)

    assert "false AS _ps_gone" in sql
    assert "DATE '2021" not in module_merge(run, SessionTable.SESSIONS, "t", "c", DATES)


def test_only_rows_that_differ_are_stitched():
    assert stitch(a_run(), "t", "c") == (
        "MERGE INTO t t USING c s ON t.user_identifier = s.user_identifier "
        "AND NOT t.stitched_user_id <=> s.user_id "
        "WHEN MATCHED THEN UPDATE SET t.stitched_user_id = s.user_id, t.run_id = 'run-7'"
    )


def test_a_column_that_is_carried_from_now_on_is_added_and_one_that_went_is_emptied():
    names = columns_of(a_run(), SessionTable.SESSIONS)
    stored = Schema(tuple(Column(name, "string") for name in (*names[1:], "old")))

    merge = module_merge(a_run(), SessionTable.SESSIONS, "t", "c", DATES, stored)

    assert merge.startswith("MERGE WITH SCHEMA EVOLUTION INTO t t USING c s ")
    assert "`old` = NULL WHEN NOT MATCHED" in merge
    known = Schema(tuple(Column(name, "string") for name in names))
    for table in (known, None):
        same = module_merge(a_run(), SessionTable.SESSIONS, "t", "c", DATES, table)
        assert same.startswith("MERGE INTO t t USING c s ")


@pytest.mark.parametrize(("compat", "newer"), [(None, "best > "), ("snowplow", "NOT best <=> ")])
def test_the_mapping_of_a_user_is_replaced_by_a_later_one(compat, newer):
    run = a_run(compat=compat)

    assert newer in user_mapping(run).source


def test_keys_come_from_either_side():
    rows = rows_of(a_run(), SessionTable.SESSIONS)
    sql = replacement(a_run(), SessionTable.SESSIONS, rows, DATES)

    assert "coalesce(n.`session_identifier`, t.`session_identifier`) AS `session_identifier`" in sql
    assert sql.count("coalesce(n.`") == 1


def test_users_add_up_what_their_sessions_have():
    carried = Passthrough(users_agg=(CarriedColumn("longest", "max(absolute_time_in_s)"),))
    run = a_run(
        passthrough=carried,
        conversions=(Conversion("buy", "x", "amount"),),
        channels=(Channel("Mail", "y"),),
    )
    found = users(run)

    names = list(found.columns)
    assert names[names.index("last_page_url") + 1 :] == [
        "first_channel",
        "last_channel",
        "longest",
        "cv_buy_volume",
        "cv_buy_converted",
        "cv_buy_first_conversion",
        "cv_buy_total",
        "run_id",
    ]
    for sql in (
        "(max(absolute_time_in_s)) AS agg0",
        "coalesce(sum(s.`cv_buy_volume`), 0) AS agg1",
        "coalesce(bool_or(s.`cv_buy_converted`), false) AS agg2",
        "min(s.`cv_buy_first_conversion`) AS agg3",
        "coalesce(sum(s.`cv_buy_total`), 0) AS agg4",
    ):
        assert sql in found.source


def test_persons_have_the_sessions_of_all_their_visitors():
    run = a_run(users_by=UsersBy.STITCHED)

    assert "coalesce(m.user_id, t.user_identifier) AS _ps_person" in users(run).source
    assert "GROUP BY s._ps_person" in users(run).source
    assert "user_identifiers" in users(run).columns
    assert "WHERE is_touched OR NOT person <=> now" in touched_users(run)
    assert "_ps_person" not in users(a_run()).source


def test_persons_come_after_the_mapping():
    (by_person,) = [e for e in a_run(users_by=UsersBy.STITCHED).package.models if e.part == "users"]
    (by_visitor,) = [each for each in a_run().package.models if each.part == "users"]

    assert {*by_person.reads} - {*by_visitor.reads} == {"web_user_mapping"}
