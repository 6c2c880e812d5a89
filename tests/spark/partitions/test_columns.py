"""Versions with other columns and types on one table."""

import datetime as dt

import pytest

from penstock.core.errors import DataError, QueryError, SchemaError
from penstock.core.findings import Location
from spark.partitions.conftest import day

PLAIN = "date date, n bigint"
SECOND, THIRD = dt.date(2024, 12, 2), dt.date(2024, 12, 3)


def of(key: str, columns: str) -> tuple[str, str]:
    """Give a query of one row of a day."""
    return key, f"SELECT DATE '{key}' AS date, {columns}"


@pytest.mark.matrix
def test_a_new_column_and_its_rows_come_with_one_commit(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1))
    table.versions = (PLAIN, f"{PLAIN}, events bigint")

    table.build(of("2024-12-03", "2L AS n, 5L AS events"))

    assert table.version == 2
    assert table.rows() == [(SECOND, 1, None), (THIRD, 2, 5)]
    assert table.migration.is_empty


@pytest.mark.matrix
def test_a_wider_type_comes_with_the_build_after_one_alter(lot) -> None:
    table = lot("date date, n int, m smallint")
    table.build(of("2024-12-02", "1 AS n, 1S AS m"))
    table.versions = ("date date, n bigint, m smallint",)
    table.build(of("2024-12-03", "3000000000 AS n, 1 AS m"))
    first = [commit.operation for commit in table.commits(1)]
    table.versions = ("date date, n bigint, m int",)

    table.build(of("2024-12-04", "1 AS n, 70000 AS m"))

    assert first == ["SET TBLPROPERTIES", "WRITE"]
    assert [commit.operation for commit in table.commits(3)] == ["WRITE"]
    assert [column.type for column in table.facts.schema.columns] == ["date", "bigint", "int"]
    assert table.rows() == [
        (SECOND, 1, 1),
        (THIRD, 3000000000, 1),
        (dt.date(2024, 12, 4), 1, 70000),
    ]


@pytest.mark.matrix
def test_every_widening_that_is_none_of_integers_is_taken_too(lot) -> None:
    old = "date date, a float, b int, c int, d decimal(10,2), e struct<x:int>"
    table = lot(old)
    values = "1 AS a, 2 AS b, 3 AS c, 4.5 AS d, named_struct('x', 5) AS e"
    table.build(of("2024-12-02", values))
    table.versions = (
        "date date, a double, b double, c decimal(12,2), d decimal(14,4), e struct<x:bigint,y:int>",
    )

    table.build(
        of(
            "2024-12-03",
            "1 AS a, 2.5 AS b, 3.5 AS c, 4.1234 AS d, named_struct('Y', 6, 'X', 5000000000) AS e",
        )
    )

    assert table.migration.is_empty
    assert [
        str(each) for each in table.sql("SELECT a, b, c, d, e.x, e.y FROM {t} ORDER BY date")
    ] == [
        "(1.0, 2.0, Decimal('3.00'), Decimal('4.5000'), 5, None)",
        "(1.0, 2.5, Decimal('3.50'), Decimal('4.1234'), 5000000000, 6)",
    ]


@pytest.mark.matrix
def test_another_type_is_breaking_and_a_rewrite_takes_it_in(lot) -> None:
    table = lot(PLAIN)
    table.build(day("2024-12-02", 1))
    table.versions = ("date date, n double",)
    moved = table.migration

    table.rewrite(moved.schema)
    table.build(of("2024-12-03", "2.5 AS n"))

    assert (moved.breaking, moved.widened) == (("n BIGINT -> DOUBLE",), ())
    assert [commit.operation for commit in table.commits(1)] == [
        "CREATE OR REPLACE TABLE AS SELECT",
        "WRITE",
    ]
    assert table.rows() == [(SECOND, 1.0), (THIRD, 2.5)]
    assert table.facts.partition_by == ("date",)


@pytest.mark.matrix
def test_a_cast_that_fails_leaves_the_table_as_it_was(lot) -> None:
    table = lot("date date, n string")
    table.build(of("2024-12-02", "'x' AS n"))
    table.versions = (PLAIN,)

    with pytest.raises(QueryError) as caught:
        table.rewrite(table.migration.schema)

    assert caught.value.code == "spark-cast-invalid-input"
    assert (table.version, table.rows()) == (1, [(SECOND, "x")])


def test_a_column_that_a_version_lacks_is_null_in_its_partitions(lot) -> None:
    table = lot(f"{PLAIN}, events bigint")
    table.build(of("2024-12-02", "1L AS n, 5L AS events"))
    table.versions = (f"{PLAIN}, events bigint", PLAIN)

    table.build(day("2024-12-03", 2))

    assert table.rows() == [(SECOND, 1, 5), (THIRD, 2, None)]
    assert table.version == 2


def test_null_in_a_required_column_fails_and_nothing_is_committed(lot) -> None:
    table = lot("date date!, n bigint!")

    with pytest.raises(DataError) as caught:
        table.build(of("2024-12-02", "CAST(NULL AS BIGINT) AS n"))

    assert (caught.value.code, caught.value.sentence) == (
        "null-in-required-column",
        "s.daily 2024-12-02: column 'n' is REQUIRED and NULL in a row",
    )
    assert table.version == 0


@pytest.mark.matrix
def test_a_column_that_a_later_version_requires_is_guarded_and_stays_nullable(lot) -> None:
    table = lot(PLAIN)
    table.build(of("2024-12-02", "CAST(NULL AS BIGINT) AS n"))
    table.versions = (PLAIN, "date date, n bigint!")

    with pytest.raises(DataError) as caught:
        table.build(of("2024-12-03", "CAST(NULL AS BIGINT) AS n"))

    assert caught.value.code == "null-in-required-column"
    assert table.migration.guarded == ()
    assert table.rows() == [(SECOND, None)]


def test_columns_that_do_not_fit_are_named_without_a_job(lot) -> None:
    table = lot(f"{PLAIN}, tags array<int>")

    with pytest.raises(SchemaError) as caught:
        table.build(of("2024-12-02", "true AS tags, 1 AS extra"))

    assert caught.value.code == "output-column-missing"
    assert caught.value.sentence == (
        "daily: the query gives no column 'n' (BIGINT); "
        "the schema has no column 'extra' (INT); "
        "column 'tags' is BOOLEAN in the query and ARRAY<INT> in the schema"
    )
    assert table.version == 0


def test_a_value_that_cannot_be_cast_fails_under_the_name_that_spark_gives(lot) -> None:
    table = lot(PLAIN)

    with pytest.raises(QueryError) as caught:
        table.build(of("2024-12-02", "concat('x', rand()) AS n"))

    assert caught.value.code == "spark-cast-invalid-input"
    assert table.version == 0


def test_an_error_in_a_query_names_its_line(lot) -> None:
    table = lot(PLAIN)
    query = "SELECT\n  DATE '2024-12-03' AS date,\n  CAST(concat('x', rand()) AS INT) AS n"

    with pytest.raises(QueryError) as caught:
        table.build(day("2024-12-02", 1), ("2024-12-03", query))

    assert caught.value.where == Location("queries/daily.v1.sql", 3)


@pytest.mark.matrix
def test_fields_of_structs_go_by_name_also_inside_lists_and_maps(lot) -> None:
    table = lot("date date, l array<struct<a:int,b:string>>, m map<string,struct<a:int,b:string>>")
    one = "named_struct('B', 'x', 'A', 1L)"

    table.build(of("2024-12-02", f"array({one}, NULL) AS l, map('k', {one}) AS m"))

    assert table.sql("SELECT to_json(l), to_json(m) FROM {t}") == [
        ('[{"a":1,"b":"x"},null]', '{"k":{"a":1,"b":"x"}}')
    ]


def test_a_column_that_is_no_longer_required_loses_not_null_before_the_build(lot) -> None:
    table = lot("date date!, n bigint!")
    table.versions = ("date date!, n bigint",)

    table.build(of("2024-12-02", "CAST(NULL AS BIGINT) AS n"))

    assert [commit.operation for commit in table.commits(0)] == ["CHANGE COLUMN", "WRITE"]
    assert table.rows() == [(SECOND, None)]
