"""Events as SQL: their clocks, ids and classes."""

import pytest
import sqlglot

from fakes.session_lake import SCROLLED
from fakes.session_sql import RELEASED, a_run, statements, with_events
from penstock.core.sessions.options import (
    MODULES,
    CarriedColumn,
    Passthrough,
    SessionUser,
)
from penstock.strategies.sessions.events import classify, event_hash, order_of

EVERYTHING = {
    "app_ids": ("a", None),
    "filters": ("app_id <> 'x'",),
    "bot_pattern": "bot",
    "engaged_when": "event_name = 'buy'",
    "page_view_stitching": True,
    "modules": MODULES,
    "passthrough": Passthrough(
        page_views=(CarriedColumn("a", "upper(app_id)"),),
        sessions_first=(CarriedColumn("b", "app_id"),),
        sessions_last=(CarriedColumn("c", "app_id"),),
        sessions_agg=(CarriedColumn("n", "count_if(app_id = 'x')"),),
        users_first=(CarriedColumn("b", "b"),),
        users_last=(CarriedColumn("last_c", "last_c"),),
    ),
}


@pytest.mark.parametrize("compat", [None, "snowplow"])
@pytest.mark.parametrize("rule", SessionUser)
def test_every_statement_can_be_read(rule, compat):
    run = a_run(RELEASED, SCROLLED, user_of_session=rule, compat=compat, **EVERYTHING)

    for name, sql in statements(run).items():
        assert len(sqlglot.parse(sql, dialect="spark")) == 1, name


def test_the_class_of_an_event_is_the_first_that_holds():
    sql = classify(a_run(app_ids=("a", None), filters=("x > 1",)), "L", "H")

    assert (
        "CASE WHEN NOT coalesce((`app_id` IN ('a') OR `app_id` IS NULL), false) "
        "OR NOT coalesce((x > 1), false) THEN 'filtered' "
        "WHEN _ps_created IS NULL OR _ps_sent IS NULL THEN 'null_device' "
        "WHEN NOT _ps_sent <= _ps_created + INTERVAL '3' DAY THEN 'late' "
        "WHEN _ps_session IS NULL THEN 'null_session' ELSE 'pass' END"
    ) in sql


def test_without_a_clock_nothing_is_late():
    sql = classify(a_run(sent_tstamp=None), "L", "H")

    assert "'late'" not in sql
    assert "CAST(NULL AS TIMESTAMP) AS _ps_sent" in sql
    gone = classify(a_run(sent_tstamp="gone"), "L", "H")
    assert "CAST(NULL AS TIMESTAMP) AS _ps_sent" in gone
    assert "CAST(NULL AS TIMESTAMP) AS _ps_sent" not in classify(a_run(), "L", "H")


def test_released_sessions_are_read_where_they_are_asked_for():
    for run, asked in ((a_run(RELEASED), False), (a_run(), True)):
        assert "domain_sessionid) AS STRING) = '" not in classify(
            run, "L", "H", with_released=asked
        )


def test_partitions_are_pruned_with_a_pad_on_both_sides():
    sql = classify(a_run(partition_column="day", partition_pad_days=2), "L", "H")

    assert "AND `day` BETWEEN date_sub(DATE(L), 2) AND date_add(DATE(H), 2)" in sql


def test_of_released_sessions_the_partitions_from_their_start_on_are_read():
    run = a_run(RELEASED, partition_column="day", partition_pad_days=0)
    start = "TIMESTAMP '2020-12-01T00:00:00.000000Z'"

    sql = classify(run, "L", "H", with_released=True)

    assert (
        f"OR CAST((domain_sessionid) AS STRING) = 's1' AND `collector_tstamp` BETWEEN {start}"
        in sql
    )
    assert f"`day` BETWEEN date_sub(DATE(least(L, {start})), 0)" in sql


def test_the_first_session_id_that_is_there_counts_as_text():
    sql = classify(a_run(session_id=("a", "b")), "L", "H")

    assert "coalesce(CAST((a) AS STRING), CAST((b) AS STRING)) AS _ps_session" in sql


def test_the_order_of_equal_events_takes_the_ties_that_are_there():
    assert order_of(a_run()) == ["_ps_ts", "_ps_created", "`etl_tstamp`", "_ps_sent"]
    assert order_of(a_run(tie_break=("gone",))) == ["_ps_ts", "_ps_created", "_ps_sent"]


def test_a_variant_is_hashed_as_its_text_and_times_without_a_zone_are_in_utc():
    run = with_events(a_run(timestamp="t"), "t timestamp_ntz", "v variant")

    assert "to_json(`v`)" in event_hash(run.schema.columns)
    sql = classify(run, "L", "H")
    assert "CAST(`t` AS TIMESTAMP) AS _ps_ts" in sql
    assert "`t` BETWEEN CAST(L AS TIMESTAMP_NTZ) AND CAST(H AS TIMESTAMP_NTZ)" in sql
