"""Rows that templates read: what `run_query` gives with them, and the text that waits for them."""

import datetime as dt

import pytest

from penstock.core.query import TemplateRows
from penstock.project.load import load_with_rows
from penstock.project.sql.context.rows import RowsTable

SEED = {"seeds/s/pays.csv": "id,method\n1,card\n"}
ASK = "run_query('select distinct method from ' ~ ref('pays') ~ ' order by 1')"
WIDE = (
    f"{{% set found = {ASK} %}}\nselect id{{% if execute %}}{{% for m in found.columns[0] %}}, "
    "max(method = '{{ m }}') as {{ m }}{% endfor %}{% endif %} from {{ ref('pays') }} group by id"
)
METHODS = TemplateRows((("method", "string"),), (("card",), ("cash",)))


@pytest.fixture
def answered(load):
    """Load files; every query that they ask gets these rows, one after another."""

    def loaded(files, *answers):
        rows = {}
        for each in answers:
            project = load({**SEED, **files}, parts=given(rows))
            (key,) = {q.key for m in project.models.values() for q in m.query.reads} - rows.keys()
            rows[key] = each
        return load({**SEED, **files}, parts=given(rows))

    return loaded


def given(rows):
    from penstock.project.first_pass import GivenParts

    return GivenParts(rows=rows)


@pytest.fixture
def spoiled(load):
    """Load files with rows as commands do: an error that the rows bring is a warning."""

    def loaded(files, rows, **how):
        files = {**SEED, **files}
        bare = load(files, **how)
        keys = {each.key for model in bare.models.values() for each in model.query.reads}
        known = given(dict.fromkeys(keys, rows))
        return load_with_rows(lambda parts: load(files, parts=parts, **how), known, bare)

    return loaded


def text_of(project, name="m"):
    return " ".join(project.models[name].query.text.split())


def test_a_template_that_reads_rows_is_rendered_with_them(answered):
    project = answered({"models/s/m.sql": WIDE}, METHODS)

    assert text_of(project) == (
        "select id, max(method = 'card') as card, max(method = 'cash') as cash "
        "from `penstock:model:pays:bare:pays` group by id"
    )


def test_until_rows_are_known_execute_is_false_and_the_query_is_on_record(load):
    project = load({**SEED, "models/s/m.sql": WIDE})
    (asked,) = project.models["m"].query.reads

    assert text_of(project) == "select id from `penstock:model:pays:bare:pays` group by id"
    assert asked.text == "select distinct method from `penstock:model:pays:bare:pays` order by 1"
    assert asked.is_ordered
    assert [str(each) for each in asked.inputs] == ["pays"]


def test_a_text_that_stands_for_another_says_so(load):
    project = load({**SEED, "models/s/m.sql": WIDE})

    assert project.shown_sql(project.models["m"]).splitlines() == [
        "-- without the rows that its template reads; no run uses this text",
        "",
        "select id from s.pays group by id",
    ]


def test_a_text_that_is_no_query_without_its_rows_is_a_read_of_its_tables(load):
    text = f"{{{{ {ASK}.columns[0].values()[0] }}}} from {{{{ ref('pays') }}}}"

    project = load({**SEED, "models/s/m.sql": text})

    assert text_of(project) == "select * from `penstock:model:pays:bare:pays`"
    assert project.models["m"].depends_on == ()
    assert [str(each) for each in project.models["m"].query.inputs] == ["pays"]


def test_a_query_whose_answer_leads_to_another_asks_for_both(answered):
    text = (
        "{% set a = run_query('select max(id) as m from ' ~ ref('pays')) %}"
        "{% if execute %}{% set b = run_query('select ' ~ a[0].m ~ ' + 1 as n') %}"
        "select {{ b.rows[0]['n'] }} as x{% endif %}"
    )

    project = answered(
        {"models/s/m.sql": text},
        TemplateRows((("m", "bigint"),), (("4",),)),
        TemplateRows((("n", "bigint"),), (("5",),)),
    )

    assert text_of(project) == "select 5 as x"
    assert len(project.models["m"].query.reads) == 2


def test_a_statement_gives_its_rows_to_load_result(answered):
    text = (
        "{% call statement('s', fetch_result=True) %}select 1 as a, 'x' as b{% endcall %}"
        "select {% if execute %}{{ load_result('s').table.columns['a'].values()[0] }} as a, "
        "'{{ load_result('s')['data'][0][1] }}' as b{% else %}0 as a{% endif %}"
    )

    project = answered(
        {"models/s/m.sql": text}, TemplateRows((("a", "int"), ("b", "string")), (("1", "x"),))
    )

    assert text_of(project) == "select 1 as a, 'x' as b"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("dbt_utils.get_column_values(ref('pays'), 'method') | join(' ')", "cash card"),
        ("penstock_utils.get_query_results_as_dict('select 1 as a')['method'] | join", "cashcard"),
        ("dbt_utils.get_single_value('select 1')", "cash"),
    ],
)
def test_shipped_macros_read_rows(answered, load, call, text):
    files = {"models/s/m.sql": f"select '{{{{ {call} if execute }}}}' as x"}
    rows = TemplateRows((("method", "string"),), (("cash",), ("card",)))

    assert text_of(load({**SEED, **files})) == "select '' as x"
    assert text_of(answered(files, rows)) == f"select '{text}' as x"


def test_columns_that_no_file_shows_are_read_from_the_table(answered):
    files = {
        "models/s/b.sql": "select * from raw.o",
        "models/s.yml": "sources: [{name: raw, tables: [{name: o}]}]\n",
        "models/s/m.sql": "select {% for c in adapter.get_columns_in_relation(ref('b')) %}"
        "{{ c.name }} /* {{ c.data_type }} */, {% endfor %} 1 as one from {{ ref('b') }}",
    }

    project = answered(files, TemplateRows((("id", "bigint"), ("day", "date"))))

    assert text_of(project).startswith("select id /* bigint */, day /* date */, 1 as one from")
    assert project.models["m"].query.reads[0].text.endswith("limit 0")


def test_columns_of_a_text_that_waits_for_rows_wait_too(load):
    files = {
        **SEED,
        "models/s/m.sql": WIDE,
        "models/s/n.sql": "{% for c in adapter.get_columns_in_relation(ref('m')) if "
        "c.name != 'id' %}select {{ c.name }} from {{ ref('m') }}{% endfor %}",
    }

    assert text_of(load(files), "n") == "select * from `penstock:model:m:bare:m`"


def test_a_type_that_no_file_declares_is_read_from_the_table(answered):
    files = {
        "models/s/m.sql": "select {% for c in adapter.get_columns_in_relation(ref('pays')) "
        "if c.is_string() %}{{ c.name }}{% endfor %} from {{ ref('pays') }}",
    }

    project = answered(files, TemplateRows((("id", "int"), ("method", "string"))))

    assert text_of(project).startswith("select method from")


def test_other_rows_are_another_text_in_spite_of_the_cache(load):
    files = {**SEED, "models/s/m.sql": WIDE}
    key = load(files, use_cache=True).models["m"].query.reads[0].key
    one = {key: TemplateRows((("method", "string"),), (("card",),))}

    first = load(files, parts=given(one), use_cache=True)
    both = load(files, parts=given({key: METHODS}), use_cache=True)
    again = load(files, parts=given(one), use_cache=True)

    assert "cash" not in text_of(first)
    assert "cash" in text_of(both)
    assert text_of(again) == text_of(first)
    assert first.models["m"].fingerprint != both.models["m"].fingerprint


@pytest.mark.parametrize(
    ("files", "finding"),
    [
        (
            {"models/s/m.sql": "{% do run_query('select 1 from ' ~ this) %}select 1 as x"},
            (
                "models/s/m.sql:1: error: template-reads-table: a template that reads its own "
                "table would be another after each run"
            ),
        ),
        (
            {"models/s/m.sql": "{% do run_query('select 1 from s.m') %}select 1 as x"},
            "models/s/m.sql:1: error: dependency-cycle: m → m (models/s/m.sql:1)",
        ),
        (
            {"models/s/m.sql": "select 1 as x,\n{{ run_query('select 1 from far.away') }} as y"},
            (
                "models/s/m.sql:2: error: template-reads-table: the template reads rows of "
                "far.away, which is not declared"
            ),
        ),
        (
            {"models/s/m.sql": "{% do run_query('drop table x') %}select 1 as x"},
            (
                "models/s/m.sql:1: error: template-reads-table: run_query: it takes one query; "
                "this begins with DROP"
            ),
        ),
        (
            {"tests/t.sql": "select {{ run_query('select 1')[0][0] }} as x from {{ ref('m') }}"},
            "tests/t.sql:1: error: template-reads-table: only templates of models read rows",
        ),
        (
            {
                "models/s/a.sql": "{% do run_query('select 1 from ' ~ ref('m')) %}select 1 as x",
                "models/s/m.sql": "{% do run_query('select 1 from ' ~ ref('a')) %}select 1 as x",
            },
            (
                "models/s/a.sql:1: error: dependency-cycle: a → m → a (models/s/a.sql:1, "
                "models/s/m.sql:1)"
            ),
        ),
    ],
)
def test_what_no_template_may_read_is_a_finding(findings, files, finding):
    found = findings({"models/s/m.sql": "select 1 as x", **files})

    assert [each for each in found if "error" in each] == [finding]


def test_values_have_the_types_of_python():
    kinds = ("int", "decimal(9,2)", "double", "boolean", "date", "timestamp", "string", "string")
    texts = ("3", "1.50", "0.5", "true", "2024-03-01", "2024-03-01 12:00:00.5", "x", None)

    (row,) = RowsTable(TemplateRows(tuple((f"c{i}", k) for i, k in enumerate(kinds)), (texts,)))

    assert [str(each) for each in row] == [
        "3", "1.50", "0.5", "True", "2024-03-01", "2024-03-01 12:00:00.500000", "x", "None",
    ]  # fmt: skip
    assert row[0] + 1 == 4
    assert row["c4"] == dt.date(2024, 3, 1)


def test_rows_are_read_as_in_dbt():
    table = RowsTable(
        TemplateRows((("a", "int"), ("b", "string")), (("1", "x"), ("2", "x"), ("3", None)))
    )

    assert table.column_names == ("a", "b")
    assert [row.values() for row in table.rows] == [(1, "x"), (2, "x"), (3, None)]
    assert dict(table.columns.items())["b"].values_distinct() == ("x", None)
    assert table.columns["b"].values_without_nulls() == ("x", "x")
    assert [column.name for column in table.columns] == ["a", "b"]
    assert table[0].get("c", 7) == 7
    assert table[1].items() == (("a", 2), ("b", "x"))
    assert (len(table), len(table.columns), len(table.columns[0])) == (3, 2, 3)
    assert table.print_table() == ""


def test_a_column_called_name_is_read_from_a_row():
    (row,) = RowsTable(TemplateRows((("name", "string"),), (("bob",),)))

    assert not hasattr(row, "name")
    assert row["name"] == "bob"


def test_a_value_that_python_does_not_have_is_text():
    kinds = (("a", "date"), ("b", "timestamp"))

    (row,) = RowsTable(TemplateRows(kinds, (("+10000-01-01", "0000-01-01 00:00:00"),)))

    assert row.values() == ("+10000-01-01", "0000-01-01 00:00:00")


EACH = (
    "{%% for row in run_query('select method from ' ~ ref('pays')) %%}"
    "select %s from {{ ref('pays') }}{%% endfor %%}"
)


@pytest.mark.parametrize(
    ("select", "values", "said"),
    [
        ("1 as x", [], "not-a-query: {}there is no query"),
        (
            "1 as `{{ row[0] }}`",
            ["a b"],
            "column-name: {}Delta refuses the name of column 'a b': it has a space",
        ),
        (
            "'{{ row[0] }}' as x",
            ["`penstock:99`"],
            (
                "template-reads-table: {}a row that the template reads holds '`penstock:', which "
                "has a meaning here"
            ),
        ),
        (
            "'{{ row[0] }}' as x",
            ["x\0000\000"],
            (
                "template-reads-table: {}a row that the template reads holds '\\x000\\x00', "
                "which has a meaning here"
            ),
        ),
        (
            "'{{ row[0] }}' as x",
            ["penstock__run_timestamp"],
            (
                "template-reads-table: {}a row that the template reads holds 'penstock__run_', "
                "which has a meaning here"
            ),
        ),
        ("{{ row['nope'] }} as x", ["a"], "unknown-name: {}a row has no attribute 'nope'"),
        ("{{ row[1] }} as x", ["a"], "unknown-name: {}a row has no element 1"),
    ],
)
def test_rows_that_break_a_template_are_a_warning_and_its_text_waits(spoiled, select, values, said):
    rows = TemplateRows((("method", "string"),), tuple((each,) for each in values))

    project = spoiled(
        {"models/s/m.sql": "{{ config(materialized='table') }}" + EACH % select}, rows
    )

    prefix = "with the rows that the template of m reads: "
    assert [each.render().partition("\n")[0] for each in project.findings] == [
        f"models/s/m.sql:1: warning: {said.format(prefix)}"
    ]
    assert project.models["m"].query.waits
    assert len(project.models["m"].query.reads) == 1
    assert text_of(project) == "select * from `penstock:model:pays:bare:pays`"


def test_the_cache_keeps_a_text_apart_from_that_without_broken_rows(spoiled):
    files = {"models/s/m.sql": "{{ config(materialized='table') }}" + EACH % "1 as `{{ row[0] }}`"}
    asked = [TemplateRows((("method", "string"),), ((each,),)) for each in ("a b", "a", "a b")]
    allowed = {"models/s.yml": "models: [{name: m, config: {table_properties: %s}}]\n"}
    allowed["models/s.yml"] %= "{delta.columnMapping.mode: name}"

    found = [spoiled(files, rows, use_cache=True).models["m"].query.waits for rows in asked]
    found.append(spoiled(files | allowed, asked[0], use_cache=True).models["m"].query.waits)

    assert found == [True, False, True, False]


def test_rows_that_break_another_file_are_taken_from_all_templates(spoiled):
    files = {
        "models/s/a.sql": "select 1 as x from {{ ref('m') }}",
        "models/s/m.sql": EACH % "1 as x from {{ ref(row[0]) }} --",
    }

    project = spoiled(files, TemplateRows((("method", "string"),), (("a",),)))

    assert project.models["m"].query.waits
    assert [each.code for each in project.findings] == ["dependency-cycle"]


def test_the_list_of_rows_has_a_name_in_messages(spoiled):
    text = "select {{ run_query('select 1 as a')[0][0] }} as x"

    project = spoiled({"models/s/m.sql": text}, TemplateRows((("a", "int"),)))

    assert project.findings[0].sentence.endswith("reads: the list of rows has no element 0")


def test_execute_is_true_when_rows_are_known(answered):
    text = (
        "{% set r = run_query('select 1 as a') %}"
        "select '{{ execute is true }} {{ execute is false }} {{ 1 is true }}' as x"
    )

    project = answered({"models/s/m.sql": text}, TemplateRows((("a", "int"),), (("1",),)))

    assert text_of(project) == "select 'True False False' as x"
