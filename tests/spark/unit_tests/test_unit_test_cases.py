"""Unit tests of models on real tables."""

import pytest

from penstock.app.services import wire
from penstock.ui.cli.main import main

NEWER = """\
    unit_tests:
      - name: newer_email_wins
        model: staging.users            # merge on id, time_column updated_at
        as_of: "2024-06-02T00:00:00Z"
        given:
          inputs:
            raw.users:
              rows:
                - {id: 1, email: new@x, updated_at: "2024-06-01 10:00:00"}
                - {id: 3, email: c@x, updated_at: "2024-06-01 11:00:00"}
          target:
            rows:
              - {id: 1, email: old@x, updated_at: "2024-05-01 00:00:00"}
              - {id: 2, email: b@x, updated_at: "2024-05-02 00:00:00"}
          state: {watermark: "2024-05-31 00:00:00"}
        expect:
          rows:
            - {id: 1, email: new@x, updated_at: "2024-06-01 10:00:00"}
            - {id: 2, email: b@x, updated_at: "2024-05-02 00:00:00"}
            - {id: 3, email: c@x, updated_at: "2024-06-01 11:00:00"}
          metrics: {inserted: 1, updated: 1}
          watermark: "2024-06-01 11:00:00"
    """


FRESH = """\
    {{ config(materialized='merge', unique_key='id', time_column='updated_at', schema='staging') }}
    select id, email, updated_at from {{ source('raw', 'users') }}
    where updated_at >= timestamp'2024-06-01'
    """


@pytest.mark.matrix
def test_the_example_passes_and_touches_neither_warehouse_nor_state(project) -> None:
    project.place.write("models/staging/users.sql", FRESH)
    project.tests(NEWER)

    report = project.run()

    assert [(r.test.name, r.lines) for r in report.results] == [("newer_email_wins", ())]
    assert not (project.root / "warehouse").exists()
    assert not list((project.root / ".penstock").glob("state*"))
    assert not (project.root / "landing").exists()


@pytest.mark.matrix
def test_with_the_condition_reversed_the_command_shows_what_changed_and_exits_1(
    project, monkeypatch, capfd
) -> None:
    project.place.write("models/staging/users.sql", FRESH.replace(">=", "<"))
    project.tests(NEWER)
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(wire, "open_services", lambda *_: project.place.services())

    code = main(("test",))

    lines = capfd.readouterr().out.splitlines()
    assert code == 1
    assert lines[0].startswith("FAIL  staging.users  newer_email_wins   tests/users.yml:2   ")
    assert lines[1:] == [
        "  rows: 3 expected, 2 found: 1 changed, 1 missing (key: id)",
        "      id  email            updated_at",
        "    ~ 1   new@x -> old@x   2024-06-01 10:00:00 -> 2024-05-01 00:00:00",
        "    - 3   c@x              2024-06-01 11:00:00    expected, not found",
        "  metrics: inserted 1 expected, 0 found; updated 1 expected, 0 found",
        "1 test: 0 passed, 1 failed.",
    ]


DAILY = """\
    {{ config(materialized='partition', partition_by='date', start='2024-12-01') }}
    select date(at) as date, id from {{ source('raw', 'events') }}
    where date(at) = @partition_date and id > 1
    """


@pytest.mark.matrix
def test_a_partition_whose_query_is_empty_is_emptied_and_the_other_one_stays(project) -> None:
    project.place.write("models/m/daily.sql", DAILY)

    assert project.told(
        """\
        unit_tests:
          - name: emptied
            model: daily
            partition: 2024-12-01
            given:
              inputs:
                raw.events: {rows: [{id: 1, at: 2024-12-01 10:00:00}]}
              target: {rows: [{date: 2024-12-01, id: 7}, {date: 2024-12-02, id: 8}]}
            expect:
              rows: [{date: 2024-12-02, id: 8}]
              commits: 1
          - name: filled
            model: daily
            from: 2024-12-01
            to: 2024-12-02
            given:
              inputs:
                raw.events:
                  rows: [{id: 2, at: 2024-12-01 10:00:00}, {id: 3, at: 2024-12-02 10:00:00}]
            expect:
              rows: [{date: 2024-12-01, id: 2}, {date: 2024-12-02, id: 3}]
              columns: {date: DATE, id: INT}
              columns_exact: true
              row_count: 2
        """
    ) == [(), ()]


@pytest.mark.matrix
def test_two_runs_of_a_snapshot_open_and_close_a_version_to_the_microsecond(project) -> None:
    project.place.write(
        "models/snapshots/kept.sql",
        """\
        {{ config(materialized='snapshot', unique_key='id', check_cols='all',
                  snapshot={'strategy': 'check'}) }}
        select id, email from {{ source('raw', 'users') }}
        """,
    )

    told = project.told(
        """\
        unit_tests:
          - name: changed
            model: kept
            runs:
              - as_of: 2024-06-01 00:00:00.000001
                given: {inputs: {raw.users: {rows: [{id: 1, email: a}, {id: 2, email: b}]}}}
              - as_of: 2024-06-02 00:00:00.000002
                given: {inputs: {raw.users: {rows: [{id: 1, email: a}, {id: 2, email: c}]}}}
                expect:
                  rows:
                    - {id: 1, email: a, _ps_valid_from: 2024-06-01 00:00:00.000001}
                    - id: 2
                      email: b
                      _ps_valid_from: 2024-06-01 00:00:00.000001
                      _ps_valid_to: 2024-06-02 00:00:00.000002
                    - {id: 2, email: c, _ps_valid_from: 2024-06-02 00:00:00.000002}
          - name: on_a_given_history
            model: kept
            as_of: 2024-06-02
            given:
              inputs: {raw.users: {rows: [{id: 1, email: b}]}}
              target: {rows: [{id: 1, email: a, _ps_valid_from: 2024-06-01 00:00:00}]}
            expect:
              rows:
                - {id: 1, email: a, _ps_valid_to: 2024-06-02 00:00:00, _ps_is_current: false}
                - {id: 1, email: b, _ps_valid_to: null, _ps_is_current: true}
        """
    )

    assert told == [(), ()]


LOG = """\
    {{ config(materialized='append', time_column='at') }}
    select id, at from {{ source('raw', 'events') }}
    """
APPENDED = """\
    unit_tests:
      - name: newer_than_the_watermark
        model: log
        given:
          inputs:
            raw.events:
              csv: |
                id,at
                1,2024-06-01 10:00:00
                2,2024-06-01 11:00:00
                3,2024-06-01 12:00:00
          target: {rows: [{id: 2, at: 2024-06-01 11:00:00}]}
        expect:
          rows: [{id: 2}, {id: 3}]
          watermark: 2024-06-01 12:00:00
          commits: 1
          metrics: {inserted: 1}
      - name: nothing_new
        model: log
        given:
          inputs: {raw.events: {rows: [{id: 1, at: 2024-06-01 10:00:00}]}}
          target: {rows: [{id: 2, at: 2024-06-01 11:00:00}]}
        expect: {unchanged: true, commits: 0, status: unchanged, watermark: 2024-06-01 11:00:00}
      - name: wrong_numbers
        model: log
        given:
          inputs: {raw.events: {rows: [{id: 3, at: 2024-06-01 12:00:00}]}}
          target: {rows: [{id: 2, at: 2024-06-01 11:00:00}]}
        expect:
          unchanged: true
          commits: 0
          watermark: 2024-06-01 11:00:00
          row_count: 1
          status: failed
    """


@pytest.mark.matrix
def test_an_append_takes_what_is_newer_than_the_watermark(project) -> None:
    project.place.write("models/m/log.sql", LOG)

    assert project.told(APPENDED) == [
        (),
        (),
        (
            "row_count: 1 expected, 2 found",
            "status: failed expected, success found",
            "unchanged: version 0 -> version 1",
            "commits: 0 expected, 1 found",
            "watermark: 2024-06-01 11:00:00 expected, 2024-06-01T12:00:00.000000Z found",
        ),
    ]


@pytest.mark.matrix
def test_an_expected_error_must_come_and_leave_the_target_alone(project) -> None:
    assert project.told(
        """\
        unit_tests:
          - &twice
            name: twice
            model: users
            given:
              inputs:
                raw.users:
                  rows:
                    - {id: 1, email: a, updated_at: 2024-06-01}
                    - {id: 1, email: b, updated_at: 2024-06-01}
              target: {rows: [{id: 1, email: c, updated_at: 2024-05-01}]}
            expect_error: {code: duplicate-keys, contains: "id=1"}
          - name: once
            model: users
            given:
              inputs: {raw.users: {rows: [{id: 1, email: a, updated_at: 2024-06-01}]}}
            expect_error: {code: duplicate-keys}
          - <<: *twice
            name: another_error
            expect_error: null-key
          - <<: *twice
            name: another_text
            expect_error: {code: duplicate-keys, contains: "id=2"}
        """
    ) == [
        (),
        ("expected duplicate-keys, the step succeeded",),
        (
            (
                "expected null-key, it failed with duplicate-keys: 1 keys (id) occur more than "
                "once in the query of 'users' (e.g. id=1 ×2)"
            ),
        ),
        (
            (
                "expected 'id=2' in the error: duplicate-keys: 1 keys (id) occur more than once "
                "in the query of 'users' (e.g. id=1 ×2)"
            ),
        ),
    ]


TYPED = """\
    {{ config(materialized='table') }}
    select id, name, amount, at from {{ ref('given') }}
    """
GIVEN = "select 1 as id, '' as name, 1.00BD as amount, now() as at"


def compared(rows: str, expected: str) -> str:
    types = "columns: {id: INT, name: STRING, amount: 'DECIMAL(10,2)', at: TIMESTAMP}"
    return f"""\
        unit_tests:
          - name: compared
            model: typed
            given: {{inputs: {{given: {{rows: {rows}, {types}}}}}}}
            expect: {{rows: {expected}}}
        """


@pytest.mark.matrix
def test_rows_compare_by_type_null_safe_as_a_multiset(project) -> None:
    project.place.write("models/m/typed.sql", TYPED)
    project.place.write("models/m/given.sql", GIVEN)

    def lines(rows: str, expected: str) -> list[str]:
        return project.shown(compared(rows, expected)).splitlines()[1:-1]

    assert lines("[{id: 1, name: ''}, {id: 2}]", "[{id: 1}, {id: 2, name: 'NULL'}]") == [
        "  rows: 2 expected, 2 found: 2 missing, 2 unexpected",
        "      id   name",
        "    - 1    NULL    expected, not found",
        "    - 2    'NULL'    expected, not found",
        "    + 1    ''    found, not expected",
        "    + 2    NULL    found, not expected",
    ]
    assert lines("[{id: 1, at: 2024-06-01 10:00:00.000001}]", "[{at: 2024-06-01 10:00:00}]") == [
        "  rows: 1 expected, 1 found: 1 missing, 1 unexpected",
        "      at",
        "    - 2024-06-01 10:00:00    expected, not found",
        "    + 2024-06-01 10:00:00.000001    found, not expected",
    ]
    assert lines("[{amount: 1.50}]", "[{amount: 1.5}]") == []
    assert lines("[{id: 1}, {id: 1}, {id: 1}]", "[{id: 1}]") == [
        "  rows: 1 expected, 3 found: 2 unexpected",
        "      id",
        "    + 1    found, not expected    x 2",
    ]
    assert lines("[{id: 1}, {id: 2}]", "[{id: 2}, {id: 1}]") == []
    assert lines("[{id: 1}]", "[{id: 1, nam: x}]") == ["  rows: test-column-missing: nam"]


@pytest.mark.matrix
def test_the_shape_of_dbt_runs(project) -> None:
    assert project.told(
        """\
        version: 2
        unit_tests:
          - name: on_top
            model: users
            given:
              - input: source('raw', 'users')
                format: csv
                rows: |
                  id,email,updated_at
                  1,new@x,2024-06-01
              - input: this
                rows: [{id: 2, email: b@x, updated_at: 2024-05-01}]
            expect:
              rows: [{id: 1, email: new@x}, {id: 2, email: b@x}]
          - name: first_run
            model: users
            overrides: {macros: {is_incremental: false}}
            given:
              - input: source('raw', 'users')
                format: sql
                rows: select 1L as id, 'new@x' as email, timestamp'2024-06-01' as updated_at
              - {input: this, rows: [{id: 2, email: b@x, updated_at: 2024-05-01}]}
            expect:
              format: csv
              rows: |
                id,email
                1,new@x
        """
    ) == [(), ()]


@pytest.mark.matrix
def test_every_type_that_is_given_is_read_back_as_it_was(project) -> None:
    project.place.write(
        "models/m/typed.sql",
        "{{ config(materialized='view') }}\nselect * from {{ ref('given') }}\n",
    )
    types = {
        "b": "BOOLEAN",
        "i": "TINYINT",
        "l": "BIGINT",
        "d": "DECIMAL(38,9)",
        "f": "FLOAT",
        "g": "DOUBLE",
        "s": "STRING",
        "x": "BINARY",
        "day": "DATE",
        "t": "TIMESTAMP",
        "n": "TIMESTAMP_NTZ",
        "a": "ARRAY<STRUCT<k: STRING, v: DECIMAL(4,2)>>",
        "m": "MAP<STRING, ARRAY<TIMESTAMP>>",
    }
    nulls = ", ".join(f"cast(null as {kind}) as {name}" for name, kind in types.items())
    project.place.write("models/m/given.sql", f"select {nulls}\n")
    rows = """\
                  - {b: true, i: -128, l: 9223372036854775807,
                     d: 12345678901234567890123456789.123456789, f: 0.1, g: .nan,
                     s: "it's \\"\\\\ü\\n", x: 00FF, day: 0001-01-01,
                     t: 2024-06-01 10:00:00.123456+02:00, n: 9999-12-31 23:59:59.999999,
                     a: [{k: a, v: 1.5}, {v: 2}, null], m: {z: [2024-01-01, null], "": []}}
                  - {g: -.inf, f: .inf, a: [], m: {}}
                  - {g: -0.0, s: "NULL"}
                  - {l: 0}
    """
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in types.items())

    assert project.told(
        f"""\
unit_tests:
      - name: all_types
        model: typed
        given:
          inputs:
            given:
              columns: {{{columns}}}
              rows: &rows
{rows}
        expect:
          columns: {{{columns}}}
          rows: *rows
"""
    ) == [()]


@pytest.mark.matrix
def test_vars_versions_files_and_earlier_successes(project) -> None:
    project.place.write("tests/given.json", '[{"id": 1, "email": "x", "updated_at": null}]')
    project.place.write("tests/more/expected.csv", "id,who\n1,y\n")
    project.place.write(
        "models/m/named.sql",
        "select id, '{{ var(\"who\", \"x\") }}' as who from {{ source('raw', 'users') }}",
    )

    assert project.told(
        """\
        unit_tests:
          - name: with_a_variable
            model: named
            vars: {who: y}
            tags: [quick]
            given:
              inputs: {"source('raw', 'users')": {file: given.json}}
              state: {history: [{rows: 3, executed_at: 1999-01-01}]}
            expect: {file: tests/more/expected.csv}
          - name: without
            model: named
            given: {inputs: {raw.users: {sql: select 1L as id}}}
            expect: {sql: "select 1 as id, 'x' as who"}
        """,
        threads=2,
    ) == [(), ()]
    assert [r.test.name for r in project.run("tag:quick").results] == ["with_a_variable"]
    assert [r.test.name for r in project.run(tests=("without",)).results] == ["without"]


@pytest.mark.matrix
def test_tests_of_a_model_that_reads_a_history_an_external_table_and_itself(project) -> None:
    project.place.write(
        "models/snapshots/kept.sql",
        """\
        {{ config(materialized='snapshot', unique_key='id', check_cols='all',
                  snapshot={'strategy': 'check'}) }}
        select id, email from {{ source('raw', 'users') }}
        """,
    )
    project.place.write(
        "models/m/joined.sql",
        """\
        {{ config(materialized='append', window='none') }}
        select k.id, k.email, o.n from {{ ref('kept') }} as k
        join elsewhere.other as o on o.id = k.id
        {% if is_incremental() %} where k.id not in (select id from {{ this }}) {% endif %}
        """,
    )

    assert project.told(
        """\
        unit_tests:
          - name: joined
            model: joined
            given:
              inputs:
                kept: {rows: [{id: 1, email: a}, {id: 2, email: b}]}
                elsewhere.other: {rows: [{id: 1, n: 5}, {id: 2, n: 6}]}
              target: {rows: [{id: 1, email: old, n: 4}]}
            expect: {rows: [{id: 1, email: old, n: 4}, {id: 2, email: b, n: 6}]}
        """
    ) == [()]


@pytest.mark.matrix
def test_fail_fast_starts_nothing_after_a_failure(project) -> None:
    project.tests(
        """\
        unit_tests:
          - &wrong
            name: wrong
            model: users
            given: {inputs: {raw.users: {rows: [{id: 1, updated_at: 2024-06-01}]}}}
            expect: {rows: []}
          - {<<: *wrong, name: next}
        """
    )

    report = project.run(fail_fast=True, threads=1)

    assert [result.status for result in report.results] == ["failed", "skipped"]
    assert not report.ok


BLOCKED = """\
    {{ config(materialized='merge', unique_key='id', on_failure='block',
              checks={'after': [{'type': 'not_null', 'column': 'email', 'name': 'a'}]}) }}
    select id, email from {{ source('raw', 'users') }}
    """


@pytest.mark.matrix
def test_a_failing_gate_blocks_and_keeps_the_rows(project) -> None:
    project.place.write("models/m/gated.sql", BLOCKED)

    assert project.told(
        """\
        unit_tests:
          - name: blocked
            model: gated
            given:
              inputs: {raw.users: {rows: [{id: 1, email: null}]}}
              target: {rows: [{id: 2, email: b}]}
            expect:
              status: failed
              unchanged: true
              checks: {a: failed}
              quarantine: [{id: 1, email: null}]
              rows: [{id: 2, email: b}]
        """
    ) == [()]
