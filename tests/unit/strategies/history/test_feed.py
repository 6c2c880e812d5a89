"""Changed rows alone: the stages of a run that reads them, and when all rows are read."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.columns.schema import Column, Schema
from penstock.core.history import ColumnsDiffer, HardDeletes
from penstock.core.strategy import HistoryRun
from penstock.strategies.history.feed import changed_stage, ungrouped_column
from penstock.strategies.history.snapshot import history
from penstock.strategies.history.terms import Terms
from unit.strategies.builds import a_build

T = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
CHECK = Terms(("id",), ColumnsDiffer(None), moment=T)
QUERY = "id int, value string"
TABLE = f"{QUERY}, _ps_valid_from timestamp, _ps_valid_to timestamp, _ps_is_current boolean"
WELL = {
    **dict.fromkeys(("twice", "copied", "null_keys", "null_times", "no_times", "empty"), 0),
    "early": 0,
    "known": 0,
    "met": 2,
    "source_only": 1,
    "table_only": 1,
    "penstock_source_side": 3,
    "penstock_table_side": 3,
}


def stages(terms=CHECK, changed=3):
    run = HistoryRun(T, changed=changed)
    return history(a_build(query=QUERY, table=TABLE, history=run), terms, {}).stages


@pytest.mark.parametrize(
    ("missing", "views"),
    [
        ("ignore", ["penstock_staged", "penstock_alone"]),
        ("invalidate", ["penstock_staged", "penstock_left", "penstock_alone"]),
        (
            "new_record",
            ["penstock_staged", "penstock_left", "penstock_alone", "penstock_tombstones"],
        ),
    ],
)
def test_a_run_of_changed_rows_has_these_stages(missing, views):
    terms = replace(CHECK, hard_deletes=HardDeletes(missing))

    assert [stage.view for stage in stages(terms)] == views


def test_neither_side_has_other_keys():
    passing = stages()[0].passing

    assert "`penstock_query`" not in passing.sql + str(passing.sides)
    assert "FROM (SELECT * FROM `penstock_changed` WHERE" in passing.sides["penstock_source_side"]
    assert "JOIN (SELECT `id`" in passing.sides["penstock_table_side"]
    assert "BROADCAST(k)" in passing.sides["penstock_table_side"]
    assert "BROADCAST" not in stages(changed=1_000_000)[0].passing.sides["penstock_table_side"]


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ({"known": 2}, "max('2 keys came back, or have another row')"),
        ({"null_keys": 1}, "max('rows are invalid')"),
        ({"met": 3}, "max('rows are invalid')"),
    ],
)
def test_all_rows_are_read_if_changed_ones_do_not_suffice(seen, why):
    first = stages()[0]

    full = first.retry(WELL | seen)

    assert first.retry(WELL) is None
    assert "FROM `penstock_query`" in full.passing.sides["penstock_source_side"]
    assert full.passing.counts["reads_all"] == why
    assert full.retry(WELL) is None
    assert "reads_all" not in full.retry(WELL | {"copied": 1}).passing.counts


def test_all_rows_are_read_if_no_other_key_is_left():
    left = stages(replace(CHECK, hard_deletes=HardDeletes.INVALIDATE))[1]

    assert left.when == "emptied"
    assert left.retry({"left": 1}) is None
    assert left.retry({"left": 0}).passing.counts["reads_all"] == "max('they leave no key')"


def test_images_are_added_up_by_all_columns_then_by_key():
    stage = changed_stage(("ID",), Schema((Column("id", "int"), Column("v", "string"))))

    assert stage.passing.sql == (
        "SELECT `id`, `__penstock_row`.`v` AS `v`, `__penstock_gained`, `__penstock_lost` FROM "
        "(SELECT `ID`, sum(greatest(`__penstock_sign`, 0)) AS `__penstock_gained`, "
        "sum(greatest(-`__penstock_sign`, 0)) AS `__penstock_lost`, "
        "first(CASE WHEN `__penstock_sign` > 0 THEN struct(`id`, `v`) END, true) AS "
        "`__penstock_row` FROM (SELECT `id`, `v`, sum(`__penstock_sign`) AS `__penstock_sign` FROM "
        "(SELECT `id`, `v`, 1 AS `__penstock_sign` FROM penstock_rows_after UNION ALL "
        "SELECT `id`, `v`, -1 AS `__penstock_sign` FROM penstock_rows_before) "
        "GROUP BY `id`, `v` HAVING sum(`__penstock_sign`) <> 0) GROUP BY `ID`)"
    )
    assert stage.passing.counts == {
        "changed_keys": "count(*)",
        "unclear_keys": "count_if(`__penstock_gained` > 1 OR `__penstock_lost` > 1)",
    }


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("array<map<int,int>>", "column x is ARRAY<MAP<INT,INT>>"),
        ("struct<a:variant>", "column x is STRUCT<A:VARIANT>"),
        ("string collate UTF8_LCASE", "column x is STRING COLLATE UTF8_LCASE"),
        ("struct<variant:int>", ""),
        ("decimal(10,2)", ""),
    ],
)
def test_values_that_cannot_be_added_up_are_named(kind, told):
    assert ungrouped_column(Schema((Column("x", kind),))) == told
