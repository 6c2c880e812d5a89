"""The columns that a table has after a step, and rows as it stores them."""

from dataclasses import replace

import pytest

from penstock.core.columns.schema import Column, Schema
from penstock.core.strategy import OnSchemaChange
from penstock.strategies.append import Append
from penstock.strategies.build import feed_of, new_schema, union_rows
from penstock.strategies.table import Table
from unit.strategies.builds import a_build


def schema(**columns):
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


@pytest.mark.parametrize(
    ("table", "query", "after"),
    [
        (None, {"a": "int"}, {"a": "int"}),
        ({"a": "int"}, {"A": "bigint"}, {"a": "bigint"}),
        ({"a": "bigint"}, {"a": "int"}, {"a": "bigint"}),
        ({"v": "decimal(10,2)"}, {"v": "decimal(14,4)"}, {"v": "decimal(14,4)"}),
        (
            {"a": "int", "gone": "string"},
            {"new": "date", "a": "int"},
            {"a": "int", "gone": "string", "new": "date"},
        ),
        ({"s": "struct<a:int>"}, {"s": "struct<b:int,a:bigint>"}, {"s": "struct<a:bigint,b:int>"}),
        ({"a": "string"}, {"a": "int"}, {"a": "int"}),
    ],
)
def test_a_table_keeps_its_columns_takes_new_ones_and_the_wider_types(table, query, after):
    build = a_build(Append())
    known = schema(**table) if table else None

    found = new_schema(replace(build, query=schema(**query), table=known))

    assert found == schema(**after)


def test_rows_of_a_feed_are_those_of_the_table_after_it():
    build = a_build(Append())
    build = replace(
        build,
        query=schema(id="int", v="decimal(14,4)"),
        table=schema(ID="bigint", v="decimal(10,2)", gone="string"),
    )

    assert feed_of(build).sql == (
        "SELECT CAST(`id` AS bigint) AS `ID`, `v`, CAST(NULL AS string) AS `gone` "
        "FROM `penstock_query`"
    )
    assert union_rows("", ("t", build.table), ("r", new_schema(build))) == (
        "SELECT `ID`, CAST(`v` AS decimal(14,4)) AS `v`, `gone` FROM `t` "
        "UNION ALL SELECT `ID`, `v`, `gone` FROM `r`"
    )


def test_no_row_stays_beside_new_ones_where_no_column_partitions_the_table():
    build = a_build(Table(overwrite_partitions=True))
    strategy, layout = build.model.strategy, build.model.layout

    assert strategy.staying(replace(layout, partition_by=()), "r", "t") == "false"


def test_a_table_that_ignores_new_columns_takes_no_new_fields_either():
    build = a_build(Append())
    model = replace(build.model, on_schema_change=OnSchemaChange.IGNORE)
    build = replace(build, model=model, query=schema(s="struct<a:int,b:int>"))

    assert new_schema(replace(build, table=schema(s="struct<a:int>"))) == schema(s="struct<a:int>")
