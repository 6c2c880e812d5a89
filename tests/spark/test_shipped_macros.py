"""The tests and macros that penstock ships, on small tables: which rows fail, and NULL."""

import datetime as dt
import hashlib

import pytest

from fakes.shipped_macros import failing, rendered

TABLES = {
    "t": "VALUES (1, 'a', 10), (2, 'a', NULL), (2, NULL, 10), (NULL, NULL, NULL) AS t(a, b, c)",
    "u": "VALUES (1, 'a', 10), (2, 'b', 20), (2, NULL, 10), (NULL, NULL, NULL) AS t(a, b, c)",
    "nothing": "VALUES (1, 'a', 10) AS t(a, b, c) WHERE a = 2",
    "nulls": "VALUES (CAST(NULL AS INT), 'a'), (NULL, 'b') AS t(a, b)",
    "texts": "VALUES ('x1'), (' '), (''), (NULL), ('it\\'s') AS t(s)",
    "spans": "VALUES (1, 3, 'p'), (3, 5, 'p'), (6, 7, 'p'), (1, NULL, 'q') AS t(l, h, p)",
    "days": "VALUES (DATE'2024-01-01'), (DATE'2024-01-02'), (DATE'2024-01-04') AS t(d)",
    "now": "VALUES (current_timestamp() - INTERVAL 2 HOURS, 'x'), "
    "(current_timestamp() + INTERVAL 9 DAYS, 'y'), (NULL, 'z') AS t(at, k)",
}
CASES = [
    # dbt_utils: what is neither true nor false passes
    ("expression_is_true", {"model": "t", "expression": "a < 2"}, 2),
    ("expression_is_true", {"model": "t", "column_name": "a", "expression": "= 1"}, 2),
    # NULLs of keys are equal
    ("unique_combination_of_columns", {"model": "nulls", "combination_of_columns": ["a"]}, 1),
    ("unique_combination_of_columns", {"model": "t", "combination_of_columns": ["a", "b"]}, 0),
    ("at_least_one", {"model": "t", "column_name": "a"}, 0),
    ("at_least_one", {"model": "nulls", "column_name": "a"}, 1),
    ("at_least_one", {"model": "nothing", "column_name": "a"}, 1),
    ("at_least_one", {"model": "t", "column_name": "a", "group_by_columns": ["c"]}, 0),
    ("at_least_one", {"model": "t", "column_name": "b", "group_by_columns": ["a"]}, 1),
    ("not_null_proportion", {"model": "t", "column_name": "a", "at_least": 0.75}, 0),
    ("not_null_proportion", {"model": "t", "column_name": "a", "at_least": 0.76}, 1),
    ("not_null_proportion", {"model": "t", "column_name": "a", "at_least": 0, "at_most": 0.7}, 1),
    ("not_null_proportion", {"model": "nothing", "column_name": "a", "at_least": 1}, 0),
    ("accepted_range", {"model": "t", "column_name": "a", "min_value": 2}, 1),
    ("accepted_range", {"model": "t", "column_name": "a", "max_value": 2, "inclusive": False}, 2),
    ("accepted_range", {"model": "t", "column_name": "a"}, 0),
    ("not_empty_string", {"model": "texts", "column_name": "s"}, 2),
    ("not_empty_string", {"model": "texts", "column_name": "s", "trim_whitespace": False}, 1),
    ("recency", {"model": "now", "field": "at", "datepart": "hour", "interval": 3}, 0),
    ("recency", {"model": "days", "field": "d", "datepart": "day", "interval": 1}, 1),
    (
        "recency",
        {"model": "nothing", "field": "cast(a as timestamp)", "datepart": "day", "interval": 1},
        1,
    ),
    (
        "recency",
        {
            "model": "now",
            "field": "at",
            "datepart": "day",
            "interval": 2,
            "group_by_columns": ["k"],
        },
        1,
    ),
    ("relationships_where", {"model": "t", "column_name": "b", "to": "u", "field": "b"}, 0),
    ("relationships_where", {"model": "u", "column_name": "b", "to": "t", "field": "b"}, 1),
    (
        "relationships_where",
        {"model": "t", "column_name": "a", "to": "u", "field": "a", "to_condition": "c > 10"},
        1,
    ),
    ("not_constant", {"model": "t", "column_name": "c"}, 1),
    ("not_constant", {"model": "t", "column_name": "a"}, 0),
    ("not_constant", {"model": "nulls", "column_name": "a"}, 0),
    ("not_accepted_values", {"model": "t", "column_name": "b", "values": ["a", "z"]}, 1),
    ("not_accepted_values", {"model": "t", "column_name": "a", "values": [3], "quote": False}, 0),
    ("equal_rowcount", {"model": "t", "compare_model": "u"}, 0),
    ("equal_rowcount", {"model": "t", "compare_model": "nulls"}, 1),
    # groups of NULL, and of one table alone, pass
    ("equal_rowcount", {"model": "t", "compare_model": "u", "group_by_columns": ["b"]}, 1),
    ("equality", {"model": "t", "compare_model": "t"}, 0),
    ("equality", {"model": "t", "compare_model": "u", "compare_columns": ["a", "c"]}, 2),
    ("equality", {"model": "t", "compare_model": "u", "exclude_columns": ["b", "c"]}, 0),
    ("cardinality_equality", {"model": "t", "column_name": "a", "to": "u", "field": "a"}, 0),
    ("cardinality_equality", {"model": "t", "column_name": "b", "to": "u", "field": "b"}, 3),
    (
        "mutually_exclusive_ranges",
        {"model": "spans", "lower_bound_column": "l", "upper_bound_column": "h"},
        1,
    ),
    (
        "mutually_exclusive_ranges",
        {
            "model": "spans",
            "lower_bound_column": "l",
            "upper_bound_column": "h",
            "partition_by": "p",
        },
        1,
    ),
    (
        "mutually_exclusive_ranges",
        {
            "model": "(select * from spans where h is not null)",
            "lower_bound_column": "l",
            "upper_bound_column": "h",
            "gaps": "not_allowed",
        },
        1,
    ),
    ("sequential_values", {"model": "days", "column_name": "d", "datepart": "day"}, 1),
    ("sequential_values", {"model": "t", "column_name": "a"}, 1),
    ("sequential_values", {"model": "nothing", "column_name": "a"}, 0),
    # dbt_expectations
    ("expect_column_to_exist", {"model": "t", "column_name": "a"}, 0),
    ("expect_table_row_count_to_be_between", {"model": "t", "min_value": 4, "max_value": 4}, 0),
    ("expect_table_row_count_to_be_between", {"model": "t", "min_value": 4, "strictly": True}, 1),
    ("expect_table_row_count_to_be_between", {"model": "nothing", "min_value": 1}, 1),
    ("expect_table_row_count_to_be_between", {"model": "t", "max_value": 1, "group_by": ["a"]}, 1),
    ("expect_table_row_count_to_equal", {"model": "t", "value": 3, "row_condition": "a > 0"}, 0),
    ("expect_table_row_count_to_equal", {"model": "t", "value": 3}, 1),
    ("expect_table_row_count_to_equal_other_table", {"model": "t", "compare_model": "u"}, 0),
    ("expect_table_row_count_to_equal_other_table", {"model": "t", "compare_model": "nulls"}, 1),
    (
        "expect_table_row_count_to_equal_other_table",
        {"model": "t", "compare_model": "nulls", "factor": 2},
        0,
    ),
    # groups of NULL, and of one table alone, fail
    (
        "expect_table_row_count_to_equal_other_table",
        {"model": "t", "compare_model": "u", "group_by": ["b"]},
        4,
    ),
    ("expect_column_values_to_be_between", {"model": "t", "column_name": "a", "min_value": 2}, 1),
    (
        "expect_column_values_to_be_between",
        {"model": "t", "column_name": "a", "min_value": 1, "max_value": 2, "strictly": True},
        3,
    ),
    (
        "expect_column_value_lengths_to_be_between",
        {"model": "texts", "column_name": "s", "min_value": 1, "max_value": 2},
        2,
    ),
    ("expect_column_values_to_not_be_null", {"model": "t", "column_name": "a"}, 1),
    (
        "expect_column_values_to_not_be_null",
        {"model": "t", "column_name": "b", "row_condition": "a is not null"},
        1,
    ),
    ("expect_column_values_to_be_null", {"model": "t", "column_name": "c"}, 2),
    # rows of NULLs alone are left out
    ("expect_compound_columns_to_be_unique", {"model": "t", "column_list": ["b", "c"]}, 0),
    ("expect_compound_columns_to_be_unique", {"model": "nulls", "column_list": ["a"]}, 0),
    (
        "expect_compound_columns_to_be_unique",
        {
            "model": "(select a, a as x from t)",
            "column_list": ["a", "x"],
            "ignore_row_if": "any_value_is_missing",
        },
        1,
    ),
    ("expect_column_values_to_be_unique", {"model": "t", "column_name": "a"}, 1),
    ("expect_column_values_to_be_unique", {"model": "nulls", "column_name": "a"}, 0),
    # NULL is in no set
    (
        "expect_column_values_to_be_in_set",
        {"model": "texts", "column_name": "s", "value_set": ["x1", "it's"]},
        3,
    ),
    (
        "expect_column_values_to_be_in_set",
        {
            "model": "t",
            "column_name": "a",
            "value_set": [1, 2],
            "quote_values": False,
            "row_condition": "a is not null",
        },
        0,
    ),
    (
        "expect_column_values_to_not_be_in_set",
        {"model": "texts", "column_name": "s", "value_set": ["x1", ""]},
        2,
    ),
    (
        "expect_column_values_to_match_regex",
        {"model": "texts", "column_name": "s", "regex": "^[a-z]\\d$"},
        3,
    ),
    (
        "expect_column_values_to_not_match_regex",
        {"model": "texts", "column_name": "s", "regex": "it's"},
        1,
    ),
    (
        "expect_column_values_to_be_of_type",
        {"model": "nothing", "column_name": "a", "column_type": "INTEGER"},
        0,
    ),
    (
        "expect_column_values_to_be_of_type",
        {"model": "t", "column_name": "a", "column_type": "string"},
        1,
    ),
    (
        "expect_row_values_to_have_recent_data",
        {"model": "now", "column_name": "at", "datepart": "hour", "interval": 3},
        0,
    ),
    (
        "expect_row_values_to_have_recent_data",
        {"model": "now", "column_name": "at", "datepart": "hour", "interval": 1},
        1,
    ),
    (
        "expect_row_values_to_have_recent_data",
        {
            "model": "now",
            "column_name": "at",
            "datepart": "hour",
            "interval": 1,
            "row_condition": "k = 'z'",
        },
        1,
    ),
    (
        "expect_multicolumn_sum_to_equal",
        {"model": "t", "column_list": ["a", "c"], "sum_total": 25},
        0,
    ),
    (
        "expect_multicolumn_sum_to_equal",
        {"model": "t", "column_list": ["a", "a"], "sum_total": "a"},
        1,
    ),
]


@pytest.fixture(scope="module")
def session(spark):
    session = spark.newSession()
    for name, rows in TABLES.items():
        session.sql(f"SELECT * FROM {rows}").createOrReplaceTempView(name)
    return session


def test_each_shipped_test_finds_the_rows_that_fail(session):
    """One query for all of them: a query of its own for each takes ten times as long."""
    counts = [
        f"SELECT {number} AS number, count(*) AS failing FROM ({failing(test, **arguments)})"
        for number, (test, arguments, _) in enumerate(CASES)
    ]

    found = {row.number: row.failing for row in session.sql(" UNION ALL ".join(counts)).collect()}

    assert {
        f"{test} {arguments}": found[number] for number, (test, arguments, _) in enumerate(CASES)
    } == {f"{test} {arguments}": failing for test, arguments, failing in CASES}


def test_a_column_that_does_not_exist_is_an_error(session):
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        session.sql(failing("expect_column_to_exist", model="t", column_name="nope"))


KEY = hashlib.md5(b"1-_dbt_utils_surrogate_key_null_", usedforsecurity=False).hexdigest()
EXPRESSIONS = {
    # what dbt_utils gives
    "generate_surrogate_key(['1', 'null'])": KEY,
    "safe_divide('7', '2')": 3.5,
    "safe_divide('7', '0')": None,
    "safe_add(['1', 'null'])": 1,
    "safe_subtract(['1', 'null', '2'])": -1,
    "get_url_host(\"'https://a.example/b?c=d'\")": "a.example",
    "get_url_host(\"'a.example?c'\")": "a.example",
    "get_url_parameter(\"'https://a/?x=1&y=2'\", 'x')": "1",
    "get_url_parameter(\"'https://a/?x=1&y=2'\", 'z')": None,
    "width_bucket('11', '0', '10', '5')": 6,
    "width_bucket('-1', '0', '10', '5')": 0,
    "'cast(' ~ haversine_distance('0', '0', '0', '1', unit='km') ~ ' as int)'": 111,
}


def test_expressions_have_the_values_of_the_originals(session):
    columns = ", ".join(f"{rendered(call)} AS c{n}" for n, call in enumerate(EXPRESSIONS))

    (row,) = session.sql(f"SELECT {columns}").collect()

    assert {call: row[n] for n, call in enumerate(EXPRESSIONS)} == EXPRESSIONS


def test_queries_have_these_rows(session):
    first = rendered("deduplicate('t', 'a', 'c desc nulls last')")
    spine = rendered("date_spine('day', \"date'2024-01-30'\", \"date'2024-02-02'\")")
    empty = rendered("date_spine('day', \"date'2024-01-30'\", \"date'2024-01-30'\")")
    star = rendered("star(from='t', except=['b'])")
    pivot = rendered("pivot('b', ['a', 'z'])")

    def rows(sql):
        return [tuple(row) for row in session.sql(sql).collect()]

    assert sorted(rows(first), key=str) == [(1, "a", 10), (2, None, 10), (None, None, None)]
    assert rows(spine) == [(dt.date(2024, 1, day),) for day in (30, 31)] + [(dt.date(2024, 2, 1),)]
    assert rows(empty) == []
    assert rows(f"select {star} from t where a = 1") == [(1, 10)]
    assert rows(f"select {pivot} from t") == [(2, 0)]
    assert rows(rendered("generate_series(3)")) == [(1,), (2,), (3,)]
