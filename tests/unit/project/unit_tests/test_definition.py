"""Which inputs a test must give: those of every version that its runs are about."""

from __future__ import annotations

VERSIONED = """\
    name: counted
    destination: {dataset: m, table: counted, partition: {field: d, type: DAY}}
    versions:
      - version: 1
        effective_from: 2024-01-01
        schema: [{name: d, type: DATE}]
        sql: select d from raw.bare where d = @partition_date
      - version: 2
        effective_from: 2024-06-01
        schema: [{name: d, type: DATE}]
        sql: select d from raw.other where d = @partition_date
    """
OTHER = "sources: [{name: raw, tables: [{name: other, path: ../landing/other}]}]\n"
MORE = {"models/m/counted.yml": VERSIONED, "models/other.yml": OTHER}
BARE = "given: {inputs: {raw.bare: {rows: [{d: 2024-01-01}]}}}"
LACKS = "missing-input: 'a' does not give raw.other, which counted reads"


def lacking(told, keys: str) -> list[str]:
    found = told(f"unit_tests: [{{name: a, model: counted, {keys}}}]\n", **MORE)
    return [line.partition(": error: ")[2].partition(";")[0] for line in found]


def test_a_range_needs_the_inputs_of_every_version_that_it_touches(told) -> None:
    expect = f"{BARE}, expect: {{rows: []}}"

    assert lacking(told, f"partition: 2024-05-31, {expect}") == []
    assert lacking(told, f"from: 2024-05-31, to: 2024-06-01, {expect}") == [LACKS]
    assert lacking(told, f"partition: 2024-06-01, {expect}") == [LACKS]
    assert lacking(told, f"partition: 2024-06-01, version: 1, {expect}") == []


def test_what_only_a_later_run_reads_may_be_given_by_that_run(told) -> None:
    other = "given: {inputs: {raw.other: {rows: [{d: 2024-06-01}]}}}"
    first = "{partition: 2024-05-31}"
    last = "partition: 2024-06-01, expect: {rows: []}"

    assert lacking(told, f"{BARE}, runs: [{first}, {{{last}, {other}}}]") == []
    assert lacking(told, f"{BARE}, runs: [{first}, {{{last}}}]") == [LACKS]
    assert lacking(told, f"{BARE}, runs: [{{{last}}}, {{partition: 2024-05-31, {other}}}]") == [
        LACKS
    ]


def test_the_variables_of_a_test_decide_what_its_model_reads(told) -> None:
    sql = """\
        {{ config(materialized='table') }}
        select d from {{ source('raw', 'bare') }}
        {% if var('more', 'no') == 'yes' %}
        union all select d from {{ source('raw', 'other') }}
        {% endif %}
        """
    both = "given: {inputs: {raw.bare: {rows: [{d: 1}]}, raw.other: {rows: [{d: 2}]}}}"

    def found(keys: str) -> list[str]:
        text = f"unit_tests: [{{name: a, model: maybe, {keys}, expect: {{rows: []}}}}]\n"
        lines = told(text, **{**MORE, "models/m/maybe.sql": sql})
        return [line.partition(": error: ")[2].partition(";")[0] for line in lines]

    assert found(f"vars: {{more: 'yes'}}, {both}") == []
    assert found(f"overrides: {{vars: {{more: 'yes'}}}}, {BARE}") == [
        "missing-input: 'a' does not give raw.other, which maybe reads"
    ]
    assert found(both) == ["unknown-input: maybe does not read 'raw.other'"]


def test_variables_with_which_the_project_does_not_load_are_its_findings(told) -> None:
    sql = "{{ config(materialized=var('how', 'table')) }}\nselect 1 as one\n"
    text = "unit_tests: [{name: a, model: one, vars: {how: never}, expect: {rows: []}}]\n"

    (line,) = told(text, **{"models/m/one.sql": sql})

    assert line.startswith("models/m/one.sql:1: error: bad-value: materialized is 'never'; ")


def test_a_seed_needs_no_rows(told) -> None:
    more = {
        "seeds/codes.csv": "code\n1\n",
        "models/m/coded.sql": "select * from {{ ref('codes') }}",
    }

    assert told("unit_tests: [{name: a, model: coded, expect: {row_count: 1}}]\n", **more) == []
