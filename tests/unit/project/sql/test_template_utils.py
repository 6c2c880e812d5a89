"""The macros that penstock ships: their SQL, and that it can be read."""

import pytest

from fakes.shipped_macros import failing, rendered
from penstock.core.errors import PenstockError
from penstock.project.sql.branches import read_branch


@pytest.mark.parametrize(
    ("call", "sql"),
    [
        (
            "generate_surrogate_key(['a', 'b'])",
            (
                "md5(concat(coalesce(cast(a as string), '_dbt_utils_surrogate_key_null_'), '-', "
                "coalesce(cast(b as string), '_dbt_utils_surrogate_key_null_')))"
            ),
        ),
        (
            "surrogate_key('a', 'b')",
            "md5(concat(coalesce(cast(a as string), ''), '-', coalesce(cast(b as string), '')))",
        ),
        ("group_by(3)", "group by 1, 2, 3"),
        ("star(from='t')", "*"),
        ("star(from='t', relation_alias='x', except=['a', 'b'])", "x.* except (`a`, `b`)"),
        ("safe_divide('a', 'b + 1')", "(a) / nullif((b + 1), 0)"),
        ("safe_add(['a', 'b'])", "coalesce(a, 0) + coalesce(b, 0)"),
        ("safe_subtract(['a', 'b'])", "coalesce(a, 0) - coalesce(b, 0)"),
        ("slugify('1 Two - Three! & four')", "_1_two_three__four"),
        ("slugify('')", ""),
        ("generate_series(3)", "select explode(sequence(1, 3)) as generated_number"),
        ("width_bucket('x', 0, 10, 5)", "width_bucket(x, 0, 10, 5)"),
        (
            "pivot('size', ['S', \"M's\"])",
            (
                "sum(case when size = 'S' then 1 else 0 end) as `S`, "
                "sum(case when size = 'M\\'s' then 1 else 0 end) as `M's`"
            ),
        ),
        (
            "pivot('size', ['X L'], agg='max', then_value='n', quote_identifiers=false)",
            "max(case when size = 'X L' then n else 0 end) as x_l",
        ),
    ],
)
def test_a_macro_is_this_sql(call, sql):
    assert rendered(call) == sql


def test_a_variable_makes_null_the_empty_text_in_keys():
    found = rendered(
        "generate_surrogate_key(['a'])", surrogate_key_treat_nulls_as_empty_strings=True
    )

    assert found == "md5(concat(coalesce(cast(a as string), '')))"


def test_a_test_without_bounds_finds_nothing():
    assert failing("accepted_range", model="t", column_name="a") == ("select * from t where false")


TESTS = [
    ("expression_is_true", {"expression": "a > 0"}),
    ("unique_combination_of_columns", {"combination_of_columns": ["a", "b"]}),
    ("unique_combination_of_columns", {"combination_of_columns": ["a"], "quote_columns": True}),
    ("at_least_one", {"column_name": "a", "group_by_columns": ["b"]}),
    ("not_null_proportion", {"column_name": "a", "at_least": 0.5}),
    ("accepted_range", {"column_name": "a", "min_value": 0, "max_value": "b"}),
    ("not_empty_string", {"column_name": "a"}),
    ("recency", {"field": "a", "datepart": "day", "interval": 1}),
    ("relationships_where", {"column_name": "a", "to": "u", "field": "b"}),
    ("not_constant", {"column_name": "a"}),
    ("not_accepted_values", {"column_name": "a", "values": ["x", "y"]}),
    ("equal_rowcount", {"compare_model": "u", "group_by_columns": ["a"]}),
    ("equality", {"compare_model": "u", "exclude_columns": ["b"]}),
    ("cardinality_equality", {"column_name": "a", "to": "u", "field": "b"}),
    ("mutually_exclusive_ranges", {"lower_bound_column": "a", "upper_bound_column": "b"}),
    ("sequential_values", {"column_name": "a", "datepart": "day"}),
    ("expect_column_to_exist", {"column_name": "a"}),
    ("expect_table_row_count_to_be_between", {"min_value": 1, "group_by": ["a"]}),
    ("expect_table_row_count_to_equal", {"value": 1}),
    ("expect_table_row_count_to_equal_other_table", {"compare_model": "u", "group_by": ["a"]}),
    ("expect_column_values_to_be_between", {"column_name": "a", "min_value": 0}),
    ("expect_column_value_lengths_to_be_between", {"column_name": "a", "max_value": 9}),
    ("expect_column_values_to_not_be_null", {"column_name": "a", "row_condition": "b > 0"}),
    ("expect_column_values_to_be_null", {"column_name": "a"}),
    ("expect_compound_columns_to_be_unique", {"column_list": ["a", "b"], "quote_columns": True}),
    ("expect_column_values_to_be_unique", {"column_name": "a"}),
    ("expect_column_values_to_be_in_set", {"column_name": "a", "value_set": ["x", "it's"]}),
    ("expect_column_values_to_not_be_in_set", {"column_name": "a", "value_set": [1, 2]}),
    ("expect_column_values_to_match_regex", {"column_name": "a", "regex": "^\\d+'$"}),
    ("expect_column_values_to_not_match_regex", {"column_name": "a", "regex": "x"}),
    ("expect_column_values_to_be_of_type", {"column_name": "a", "column_type": "INTEGER"}),
    (
        "expect_row_values_to_have_recent_data",
        {"column_name": "a", "datepart": "hour", "interval": 3},
    ),
    ("expect_multicolumn_sum_to_equal", {"column_list": ["a", "b"], "sum_total": "c"}),
]
QUERIES = [
    "deduplicate('t', 'a', 'b desc')",
    "date_spine('day', \"date'2024-01-01'\", \"date'2024-02-01'\")",
    "generate_series(3)",
]


@pytest.mark.parametrize(("test", "arguments"), TESTS, ids=lambda each: str(each)[:60])
def test_the_sql_of_a_test_can_be_read(test, arguments):
    assert readable(failing(test, model="t", **arguments))


@pytest.mark.parametrize("call", QUERIES)
def test_the_sql_of_a_query_can_be_read(call):
    assert readable(rendered(call))


def readable(sql):
    try:
        branch, _ = read_branch(sql, ())
    except PenstockError as error:
        return pytest.fail(f"{error}: {sql}")
    return branch is not None


A = "select 1 as id, 'x' as name"
B = "select 2 as id, 3 as number"


@pytest.mark.parametrize(
    ("query", "sql"),
    [
        (
            "{{ dbt_utils.union_relations([ref('a'), ref('b')], column_override={'id': 'long'}) }}",
            (
                "(select 'shop.a' as `_dbt_source_relation`, cast(`id` as long) as `id`, "
                "`name` as `name`, null as `number` from shop.a) union all "
                "(select 'shop.b' as `_dbt_source_relation`, cast(`id` as long) as `id`, "
                "null as `name`, `number` as `number` from shop.b)"
            ),
        ),
        (
            (
                "{{ dbt_utils.union_relations([ref('a'), ref('b')], include=['ID'], "
                "where='id > 1', source_column_name=none) }}"
            ),
            (
                "(select `id` as `id` from shop.a where id > 1) union all "
                "(select `id` as `id` from shop.b where id > 1)"
            ),
        ),
        (
            "{{ dbt_utils.unpivot(ref('b'), cast_to='varchar', exclude=['id']) }}",
            (
                "select `id`, 'number' as `field_name`, cast(`number` as string) as `value` "
                "from shop.b"
            ),
        ),
        (
            "select {{ dbt_utils.star(ref('a'), except=['id'], prefix='a_') }} from {{ ref('a') }}",
            "select `name` as `a_name` from shop.a",
        ),
        (
            "select {{ penstock_utils.star(ref('a'), rename={'id': 'key'}) }} from {{ ref('a') }}",
            "select `id` as `key`, `name` as `name` from shop.a",
        ),
    ],
)
def test_a_macro_knows_the_columns_of_models(load, query, sql):
    project = load({"models/a.sql": A, "models/b.sql": B, "models/c.sql": query})

    assert " ".join(project.shown_sql(project.models["c"]).split()) == sql
