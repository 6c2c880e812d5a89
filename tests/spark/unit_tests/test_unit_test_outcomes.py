"""What tests of every shape come to: one run of many tests, compared as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MODELS = {
    "gated": """\
        {{ config(materialized='merge', unique_key='id', checks={
            'before': [{'type': 'row_count', 'min': 1, 'name': 'some', 'input': 'raw.users'}],
            'after': [{'type': 'not_null', 'column': 'email', 'name': 'mail'},
                      {'type': 'row_count', 'min': 2, 'name': 'some'}]}) }}
        select id, email from {{ source('raw', 'users') }}
        """,
    "log": """\
        {{ config(materialized='append', time_column='at') }}
        select id, at from {{ source('raw', 'events') }}
        """,
    "kept": """\
        {{ config(materialized='snapshot', unique_key='id', check_cols='all',
                  snapshot={'strategy': 'check'}) }}
        select id, email from {{ source('raw', 'users') }}
        """,
    "coded": """\
        {{ config(materialized='table') }}
        select u.id, c.word from {{ source('raw', 'users') }} as u
        join {{ ref('codes') }} as c on c.id = u.id
        """,
}
VERSIONED = """\
    name: counted
    destination: {dataset: m, table: counted, partition: {field: d, type: DAY}}
    versions:
      - version: 1
        effective_from: 2024-01-01
        schema: [{name: d, type: DATE}, {name: id, type: INT64}]
        sql: select date(at) as d, id from raw.events where date(at) = @partition_date
      - version: 2
        effective_from: 2024-06-01
        schema: [{name: d, type: DATE}, {name: id, type: INT64}]
        sql: select day as d, -id as id from other.days where day = @partition_date
    """
TESTS = """\
unit_tests:
  - &gated
    name: quarantine_of_another_type
    model: gated
    on_failure: block
    given: {inputs: {raw.users: {rows: [{id: 1}]}}, target: {rows: [{id: 9, email: i}]}}
    expect:
      status: failed
      checks: {mail: failed, after.some: failed, before.some: passed}
      quarantine: {rows: [{id: 1, email: null}], columns: {id: INT}}
  - <<: *gated
    name: a_gate_that_nobody_names
    expect:
      status: failed
      checks: {mail: failed}
      quarantine: {rows: [{id: 2, email: null}], columns: {email: STRING}}
  - <<: *gated
    name: both_phases
    expect: {status: failed, checks: {mail: failed, before.some: failed, after.some: passed}}
  - &first
    name: no_table_for_rows_of_sql
    model: gated
    on_failure: block
    given: {inputs: {raw.users: {rows: [{id: 1}]}}}
    expect: {status: failed, sql: select 1L as id}
  - {<<: *first, name: no_table_for_columns, expect: {status: failed, columns: {id: BIGINT}}}
  - <<: *gated
    name: taken_back
    on_failure: rollback
    expect: {status: failed, commits: 2, rows: [{id: 9, email: i}]}
  - <<: *gated
    name: an_error_that_was_taken_back
    on_failure: rollback
    expect: null
    expect_error: after-check-failed
  - {<<: *gated, name: an_error_that_stayed, on_failure: flag, expect: null,
     expect_error: after-check-failed}
  - &range
    name: over_two_versions
    model: counted
    from: 2024-05-31
    to: 2024-06-01
    given:
      inputs:
        raw.events: {rows: [{id: 7, at: 2024-05-31 10:00:00}, {id: 8, at: 2024-06-01 10:00:00}]}
        other.days: {rows: [{id: 5, day: 2024-05-31}, {id: 6, day: 2024-06-01}]}
    expect: {rows: [{d: 2024-05-31, id: 7}, {d: 2024-06-01, id: -6}]}
  - name: one_version_after_the_other
    model: counted
    runs:
      - partition: 2024-05-31
        given: {inputs: {raw.events: {rows: [{id: 7, at: 2024-05-31 10:00:00}]}}}
        expect: {rows: [{d: 2024-05-31, id: 7}]}
      - partition: 2024-06-01
        given: {inputs: {other.days: {rows: [{id: 6, day: 2024-06-01}]}}}
        expect: {rows: [{d: 2024-05-31, id: 7}, {d: 2024-06-01, id: -6}]}
  - &sql
    name: sql_that_is_no_bigint
    model: staging.users
    given: {inputs: {raw.users: {sql: "select 1.5 as id, timestamp'2024-06-01' as updated_at"}}}
    expect: {row_count: 1}
  - {<<: *sql, name: sql_too_large, given: {inputs: {raw.users: {sql: select 1e30D as id}}}}
  - <<: *sql
    name: expected_sql_that_is_no_bigint
    given: {inputs: {raw.users: {rows: [{id: 1, updated_at: 2024-06-01}]}}}
    expect: {sql: select 1.5 as id, row_count: 2}
  - &log
    name: target_of_sql
    model: log
    given:
      inputs: {raw.events: {rows: [{id: 1, at: 2024-06-01}, {id: 3, at: 2024-06-03}]}}
      target: {sql: "select 2 as id, timestamp'2024-06-02' as at"}
    expect: {rows: [{id: 2}, {id: 3}], watermark: {raw.events.at: 2024-06-03}}
  - <<: *log
    name: target_of_parquet
    given:
      inputs: {raw.events: {rows: [{id: 1, at: 2024-06-01}, {id: 3, at: 2024-06-03}]}}
      target: {file: two.parquet}
  - <<: *log
    name: target_of_csv_and_a_watermark_by_its_column
    given:
      inputs: {raw.events: {rows: [{id: 1, at: 2024-06-01}, {id: 3, at: 2024-06-03}]}}
      target: {csv: "id,at\\n2,2024-06-02\\n"}
      state: {watermark: {events.at: 2024-05-01}}
    expect: {rows: [{id: 2}, {id: 1}, {id: 3}], watermark: {events.at: 2024-06-03}}
  - &history
    name: history_of_sql
    model: kept
    as_of: 2024-06-02
    given:
      inputs: {raw.users: {rows: [{id: 1, email: b}]}}
      target: {sql: "select 1 as id, 'a' as email, timestamp'2024-06-01' as _ps_valid_from"}
    expect: {rows: [{email: a, _ps_is_current: false}, {email: b, _ps_is_current: true}]}
  - <<: *history
    name: history_of_sql_without_beginning
    given:
      inputs: {raw.users: {rows: [{id: 1, email: b}]}}
      target: {sql: select 1 as id}
  - &plain
    name: types_that_are_wrong
    model: staging.users
    given: {inputs: {raw.users: {rows: [{id: 1, email: a, updated_at: 2024-06-01}]}}}
    expect: {rows: [{id: 1}], columns: {id: INT, nope: STRING}, columns_exact: true}
  - {<<: *plain, name: a_type_and_no_value, expect: {rows: [{id: 1}], columns: {email: STRING}}}
  - {<<: *plain, name: no_such_column, expect: {rows: [{id: 1, nam: null}], row_count: 2}}
  - <<: *plain
    name: the_columns_of_sql_and_no_other
    expect:
      sql: "select 1 as id, 'a' as email, timestamp'2024-06-01' as updated_at"
      columns_exact: true
  - {<<: *plain, name: of_fixtures, given: [{input: raw.users, format: sql, fixture: one},
     {input: this, fixture: two}], expect: {fixture: both}}
  - {<<: *plain, name: built_anew, full_refresh: true, expect: {rows: [{id: 1}]}, given:
     {inputs: {raw.users: {rows: [{id: 1, updated_at: 2024-06-01}]}}, target: {rows: [{id: 9}]}}}
  - {name: with_the_rows_of_a_seed, model: coded, given: {inputs: {raw.users: {rows: [{id: 1}]}}},
     expect: {rows: [{id: 1, word: one}], columns: {word: STRING}}}
"""
FOUND = {
    "quarantine_of_another_type": ("quarantine: columns: id is BIGINT, INT expected",),
    "a_gate_that_nobody_names": (
        "quarantine: 1 expected, 1 found: 1 missing, 1 unexpected (key: id)",
        "checks: some failed: rows 1 < min 2",
    ),
    "both_phases": (
        "checks: before.some failed expected, passed found: rows 1",
        "checks: after.some passed expected, failed found: rows 1 < min 2",
    ),
    "no_table_for_rows_of_sql": ("rows: the table does not exist",),
    "no_table_for_columns": ("columns: the table does not exist",),
    "an_error_that_stayed": ("the target changed: version 0 -> version 1",),
    "sql_that_is_no_bigint": (
        (
            "tests/users.yml:60:39: bad-test-value: column 'id' is BIGINT: "
            "'1.5' is not a value of BIGINT"
        ),
    ),
    "sql_too_large": (
        (
            "tests/users.yml:62:71: bad-test-value: column 'id' is BIGINT: "
            "'1.0E30' is not a value of BIGINT"
        ),
    ),
    "expected_sql_that_is_no_bigint": (
        (
            "rows: tests/users.yml:66:19: bad-test-value: column 'id' is BIGINT: "
            "'1.5' is not a value of BIGINT"
        ),
        "row_count: 2 expected, 1 found",
    ),
    "history_of_sql_without_beginning": (
        "tests/users.yml:98:21: bad-test-value: a version of kept needs _ps_valid_from",
    ),
    "types_that_are_wrong": (
        "columns: id is BIGINT, INT expected",
        "columns: test-column-missing: nope",
        "columns: email, updated_at not expected",
    ),
    "no_such_column": ("rows: test-column-missing: nam", "row_count: 2 expected, 1 found"),
}


@pytest.mark.matrix
def test_every_test_says_what_differs_and_no_more(project) -> None:
    for name, sql in MODELS.items():
        project.place.write(f"models/m/{name}.sql", sql)
    project.place.write("models/m/counted.yml", VERSIONED)
    project.place.write("seeds/codes.csv", "id,word\n1,one\n2,two\n")
    project.place.write(
        "tests/fixtures/one.sql", "select 1 as id, timestamp'2024-06-01' as updated_at"
    )
    project.place.write("tests/fixtures/two.csv", "id,updated_at\n2,2024-05-01\n")
    project.place.write("tests/fixtures/both.csv", "id,email\n1,\n2,\n")
    parquet(project, "select 2 as id, timestamp'2024-06-02' as at", "tests/two.parquet")
    project.tests(TESTS)

    report = project.run()

    assert {r.test.name: r.lines for r in report.results if r.lines} == FOUND
    assert len(report.results) == 25
    manifest = json.loads((project.root / ".penstock/target/manifest.json").read_text())
    assert {node["path"] for node in manifest["unit_tests"].values()} == {"tests/users.yml"}


def parquet(project, sql: str, place: str) -> None:
    """Write one Parquet file."""
    folder = project.root / "parts"
    project.place.spark.sql(sql).coalesce(1).write.parquet(str(folder))
    (part,) = Path(folder).glob("part-*.parquet")
    part.rename(project.root / place)
