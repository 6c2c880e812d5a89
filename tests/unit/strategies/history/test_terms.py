"""The terms of one run, and what its retention removes."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.history import ColumnsDiffer, HardDeletes, HashDiffers, NewerThan, Retention
from penstock.core.strategy import HistoryRun, Layout, OnSchemaChange
from penstock.strategies.history.snapshot import Snapshot, terms_of
from penstock.strategies.history.terms import (
    Sides,
    Terms,
    candidates,
    carried_columns,
    horizon,
    is_removed,
)
from unit.strategies.builds import a_build

T = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
CHECK = Terms(("id",), ColumnsDiffer(None), moment=T)
TABLE = "id int, _ps_valid_from timestamp, _ps_valid_to timestamp, _ps_is_current boolean"


def removable(retention):
    return candidates(Sides.of(a_build(table=TABLE), replace(CHECK, retention=retention)))


def test_a_snapshots_terms_are_its_settings_at_a_moment_with_the_retention_of_the_run():
    snapshot = Snapshot(
        ("id",),
        NewerThan("at"),
        hard_deletes=HardDeletes.INVALIDATE,
        match_null_keys=True,
        ignore_null_time=True,
        retention=Retention(keep_last=9),
    )

    assert terms_of(snapshot, HistoryRun(T, Retention(keep_last=1), allow_empty=True)) == Terms(
        ("id",),
        NewerThan("at"),
        moment=T,
        hard_deletes=HardDeletes.INVALIDATE,
        match_null_keys=True,
        ignore_null_time=True,
        allow_empty=True,
        retention=Retention(keep_last=1),
    )


def test_the_run_timestamp_is_written_in_utc_to_the_microsecond():
    east = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2024, 6, 1, 2, 0, 0, 7, tzinfo=east)

    assert replace(CHECK, moment=moment).at == "TIMESTAMP '2024-06-01T00:00:00.000007Z'"


@pytest.mark.parametrize(
    ("retention", "condition"),
    [
        (Retention(keep_last=1), "(r > 1)"),
        (Retention(keep_last=3), "(r > 1 AND r > 3)"),
        (Retention(keep_days=30), "(r > 1 AND old)"),
        (Retention(keep_last=3, keep_days=30), "(r > 1 AND r > 3 AND old)"),
    ],
)
def test_a_version_goes_when_every_setting_marks_it_and_the_newest_never(retention, condition):
    assert is_removed(retention, "r", "old") == condition


def test_days_are_counted_back_from_the_run_timestamp():
    month = replace(CHECK, retention=Retention(keep_days=31))

    assert horizon(month) == "TIMESTAMP '2024-05-01T00:00:00.000000Z'"


@pytest.mark.parametrize(
    ("retention", "where"),
    [
        (Retention(keep_last=3), "rank >= 3"),
        (Retention(keep_days=31), "rank >= 1 AND until <= TIMESTAMP '2024-05-01T00:00:00.000000Z'"),
        (
            Retention(keep_last=3, keep_days=31),
            "rank >= 3 AND until <= TIMESTAMP '2024-05-01T00:00:00.000000Z'",
        ),
    ],
)
def test_candidates_are_ranked_by_key_and_interval_alone(retention, where):
    assert removable(retention) == (
        "SELECT `id`, collect_list(struct(at, rank)) AS `__penstock_old`, "
        "bool_or(twin) AS `__penstock_twice` FROM (SELECT `id`, "
        "`_ps_valid_from` AS at, `_ps_valid_to` AS until, row_number() OVER (PARTITION BY `id` "
        "ORDER BY `_ps_valid_from` DESC) AS rank, coalesce(lag(`_ps_valid_from`) OVER "
        "(PARTITION BY `id` ORDER BY `_ps_valid_from` DESC) = `_ps_valid_from`, false) AS twin "
        "FROM `penstock_target`) "
        f"WHERE {where} GROUP BY `id`"
    )


def test_candidates_without_a_retention_are_a_bug():
    with pytest.raises(ValueError, match="no retention"):
        removable(None)


STORED = "id int, a int, gone int, _ps_valid_from timestamp, _ps_valid_to timestamp"


def sides(change, table=STORED, query="ID int, a bigint, b string, at string", **how):
    terms = Terms(("id",), change, moment=T, **how)
    return Sides.of(a_build(query=query, table=table), terms)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (ColumnsDiffer(None), ["a", "b", "at"]),
        (ColumnsDiffer(("A", "id", "none")), ["a"]),
        (NewerThan("AT", compare_rows=True), ["a", "b"]),
        (NewerThan("at"), []),
        (HashDiffers("h", ("a",)), []),
    ],
)
def test_the_values_of_some_columns_decide(change, names):
    assert [each.name for each in sides(change).decisive] == names


def test_a_value_is_compared_in_the_wider_type_or_as_it_is_stored():
    grown = sides(ColumnsDiffer(("a", "b")))
    kept = replace(grown, grows=False)
    same = "(CAST(s.`a` AS bigint) <=> CAST(c.`__penstock_c0` AS bigint) AND s.`b` IS NULL)"

    assert grown.is_changed == f"NOT {same}".replace("CAST(s.`a` AS bigint)", "s.`a`")
    assert kept.is_changed == grown.is_changed
    assert sides(NewerThan("at")).is_changed == "false"


def test_stored_columns_are_those_that_penstock_does_not_add():
    found = sides(ColumnsDiffer(None))
    marked = sides(ColumnsDiffer(None), f"{STORED}, _ps_is_deleted boolean")

    assert [each.name for each in found.stored] == ["id", "a", "gone"]
    assert [each.name for each in found.lost_columns] == ["gone"]
    assert (found.is_tomb, marked.is_tomb) == ("false", "coalesce(`_ps_is_deleted`, false)")
    assert [each.has_deleted for each in (found, marked)] == [False, True]


@pytest.mark.parametrize(
    ("query", "event", "sql"),
    [
        ("id int, at timestamp", False, "`at`"),
        ("id int, at timestamp", True, "CAST(`at` AS TIMESTAMP)"),
        ("id int, at string", False, "try_cast(`at` AS TIMESTAMP)"),
        ("id int", False, None),
    ],
)
def test_a_time_is_compared_as_it_is_unless_it_is_a_text_or_begins_a_version(query, event, sql):
    found = sides(NewerThan("at"), query=query, event_time=event)

    assert found.time_sql(found.query) == sql


def test_current_versions_are_found_by_partition_where_the_table_is_split():
    build = a_build(query="id int", table="id int")
    split = replace(build, model=replace(build.model, layout=Layout(("_PS_is_current",))))
    keeps = replace(build, model=replace(build.model, on_schema_change=OnSchemaChange.IGNORE))
    terms = Terms(("id",), ColumnsDiffer(None), moment=T)
    found, halves, same = (Sides.of(each, terms) for each in (build, split, keeps))

    assert (found.is_current, halves.is_current) == (
        *("`_ps_valid_to` IS NULL", "`_ps_is_current` = true"),
    )
    assert (found.grows, same.grows) == (True, False)
    assert found.is_repeated == "count(*) OVER (PARTITION BY `id`) > 1"
    assert replace(found, twins=False).is_repeated == "false"


def test_a_narrow_row_has_what_decides_alone():
    wide = sides(HashDiffers("b"))
    narrow, timed = replace(wide, narrow=True), replace(sides(NewerThan("at")), narrow=True)

    found = ([each.name for each in carried_columns(one)] for one in (wide, narrow, timed))
    assert [*found] == [["ID", "a", "b", "at"], ["ID", "b"], ["ID", "at"]]


@pytest.mark.parametrize(
    ("retention", "removed", "kept"),
    [
        (Retention(2), "(r > 1 AND r > 2)", "rank >= 2 GROUP"),
        (Retention(1), "(r > 1)", "rank >= 1 GROUP"),
        (Retention(None, 3), "(r > 1 AND old)", "rank >= 1 AND until <= TIMESTAMP '2024-05-29T"),
        (Retention(2, 3), "(r > 1 AND r > 2 AND old)", "rank >= 2 AND until <= TIMESTAMP '2024-0"),
    ],
)
def test_versions_are_removed_if_all_that_is_said_marks_them(retention, removed, kept):
    assert is_removed(retention, "r", "old") == removed
    assert kept in candidates(sides(ColumnsDiffer(None), retention=retention))
