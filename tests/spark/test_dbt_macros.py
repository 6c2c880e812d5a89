"""dbt's cross-database macros, on Spark's own functions."""

from penstock.project.files.render_context import RenderContext
from penstock.project.sql.sql_file import parse_sql_files

NAMES = (
    "{% macro names(t) %}{% set n = [] %}"
    "{% for c in adapter.get_columns_in_relation(t) %}{% do n.append(c.quoted) %}{% endfor %}"
    "{{ return(n | join(', ')) }}{% endmacro %}"
)
WANTED = {
    "cast(dateadd('day', 1, \"'2024-02-28'\") as string)": "2024-02-29 00:00:00",
    "cast(dateadd('month', -1, \"'2024-03-31'\") as string)": "2024-02-29 00:00:00",
    "datediff(\"'2024-01-31'\", \"'2024-02-01'\", 'month')": 1,
    "datediff(\"'2023-12-31'\", \"'2024-01-01'\", 'year')": 1,
    "datediff(\"'2024-03-31'\", \"'2024-04-01'\", 'quarter')": 1,
    "datediff(\"'2024-01-07'\", \"'2024-01-08'\", 'week')": 1,
    "datediff(\"'2024-01-08'\", \"'2024-01-01'\", 'day')": -7,
    "datediff(\"'2024-01-01 09:59:00'\", \"'2024-01-01 10:01:00'\", 'hour')": 1,
    "cast(date_trunc('month', \"timestamp'2024-02-28'\") as string)": "2024-02-01 00:00:00",
    "cast(last_day(\"'2024-02-03'\", 'month') as string)": "2024-02-29",
    "cast(last_day(\"timestamp'2024-02-03'\", 'quarter') as string)": "2024-03-31",
    "cast(dbt.date(2024, 2, 3) as string)": "2024-02-03",
    "safe_cast(\"'x'\", type_int())": None,
    "cast(cast(\"'1'\", type_bigint()) as string)": "1",
    "concat([\"'a'\", \"'b'\"])": "ab",
    "hash(\"'a'\")": "0cc175b9c0f1b6a831c399e269772661",
    "length(\"'abc'\")": 3,
    "position(\"'b'\", \"'abc'\")": 2,
    "replace(\"'abc'\", \"'b'\", \"'x'\")": "axc",
    "right(\"'abc'\", 2)": "bc",
    "split_part(\"'a|b|c'\", \"'|'\", 2)": "b",
    "split_part(\"'a|b|c'\", \"'|'\", -1)": "c",
    'string_literal(escape_single_quotes("it\'s"))': "it's",
    "listagg('v', \"'+'\", 'order by v desc')": "b+a",
    "listagg('v', \"'+'\", 'order by v desc', 1)": "b",
    "any_value(1)": 1,
    "bool_or(\"v = 'a'\")": True,
    "cast(array_construct([1, 2]) as string)": "[1, 2]",
    "cast(array_append(array_construct([1]), 2) as string)": "[1, 2]",
    "equals('null', 'null')": True,
}


def test_every_macro_is_spark_sql(spark):
    calls = []
    for call in WANTED:
        inner = call.removeprefix("cast(").removesuffix(" as string)")
        is_cast = call.startswith("cast(") and call.endswith(" as string)")
        calls.append(f"cast({{{{ {inner} }}}} as string)" if is_cast else f"{{{{ {call} }}}}")
    text = f"select {', '.join(calls)} from values ('a'), ('b') as t(v)"
    file = parse_sql_files({"models/m.sql": text}, {}, RenderContext({}))["models/m.sql"]

    rows = spark.sql(file.branches[0].text).collect()

    assert [f.render() for f in file.findings if f.is_error] == []
    assert dict(zip(WANTED, rows[0], strict=True)) == WANTED


def test_except_and_intersect_join_queries(spark):
    text = "select 1 as a {{ dbt.except() }} select 2 {{ dbt.intersect() }} select 2"
    file = parse_sql_files({"models/m.sql": text}, {}, RenderContext({}))["models/m.sql"]

    assert [tuple(row) for row in spark.sql(file.branches[0].text).collect()] == [(1,)]


def test_what_a_template_knows_of_tables_and_of_the_run_leaves_nothing_to_do(place):
    place.write("macros/names.sql", NAMES)
    place.model("a", "select 1 as id, 'x' as word", materialized="table")
    place.model(
        "b",
        "select {{ names(ref('a')) }}, '{{ run_started_at.strftime(\"%Y\") }}' as year, "
        "'{{ invocation_id }}' as run from {{ ref('a') }}",
        materialized="table",
    )
    place.run()
    first = place.version("b")
    place.run()
    again = place.version("b")
    (row,) = place.rows("b")
    place.model("a", "select 1 as id, 'x' as word, 2 as z", materialized="table")

    changed = place.run()

    assert (first, again) == (0, 0)
    assert (row[0], row[1], len(row[2]), len(row[3])) == (1, "x", 4, 36)
    assert changed["b"].status == "success"
    assert [len(row) for row in place.rows("b")] == [5]
