"""Unit tests of models of every kind: what stands beside the cases."""

from __future__ import annotations

import pytest

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
        sql: select date(at) as d, -id as id from raw.events where date(at) = @partition_date
    """


@pytest.mark.matrix
def test_the_date_of_a_partition_chooses_the_version_unless_the_test_does(project) -> None:
    project.place.write("models/m/counted.yml", VERSIONED)
    given = "given: {inputs: {raw.events: {rows: [{id: 7, at: 2024-03-01 10:00:00}]}}}"

    assert project.told(
        f"""\
        unit_tests:
          - name: by_date
            model: counted
            partition: 2024-03-01
            {given}
            expect: {{rows: [{{d: 2024-03-01, id: 7}}]}}
          - name: by_number
            model: counted
            version: 2
            partition: 2024-03-01
            {given}
            expect: {{rows: [{{d: 2024-03-01, id: -7}}]}}
        """
    ) == [(), ()]


@pytest.mark.matrix
def test_a_partition_reads_a_view_that_is_given_and_an_empty_target(project) -> None:
    project.place.write(
        "models/m/seen.sql",
        "{{ config(materialized='view') }}\n"
        "select date(at) as d, id from {{ source('raw', 'events') }}\n",
    )
    project.place.write(
        "models/m/daily.sql",
        """\
        {{ config(materialized='partition', partition_by='d', start='2024-01-01') }}
        select d, id from {{ ref('seen') }} where d = @partition_date
        """,
    )

    assert project.told(
        """\
        unit_tests:
          - name: on_an_empty_table
            model: daily
            partition: 2024-03-01
            given:
              inputs: {seen: {rows: [{d: 2024-03-01, id: 7}, {d: 2024-03-02, id: 8}]}}
              target: {rows: []}
            expect: {rows: [{d: 2024-03-01, id: 7}], commits: 1}
          - name: the_view_itself
            model: seen
            given: {inputs: {raw.events: {rows: [{id: 7, at: 2024-03-01 10:00:00}]}}}
            expect: {rows: [{d: 2024-03-01, id: 7}], columns: {id: INT}, columns_exact: true}
        """
    ) == [(), ()]


HASHED = """\
    {{ config(materialized='snapshot', unique_key='id', check_cols=['email'], row_hash=true,
              hard_deletes='new_record', snapshot={'strategy': 'check'}) }}
    select id, email from {{ source('raw', 'users') }}
    """


@pytest.mark.matrix
def test_a_given_history_has_its_hashes_and_tombstones_made(project) -> None:
    project.place.write("models/snapshots/kept.sql", HASHED)

    assert project.told(
        """\
        unit_tests:
          - name: one_gone_one_same_one_new
            model: kept
            as_of: 2024-06-02
            given:
              inputs: {raw.users: {rows: [{id: 1, email: a}, {id: 3, email: c}]}}
              target:
                rows:
                  - {id: 1, email: a, _ps_valid_from: 2024-06-01}
                  - {id: 2, email: b, _ps_valid_from: 2024-06-01}
            expect:
              rows:
                - {id: 1, _ps_valid_from: 2024-06-01, _ps_is_deleted: false}
                - id: 2
                  _ps_valid_from: 2024-06-01
                  _ps_valid_to: 2024-06-02
                  _ps_is_deleted: false
                - {id: 2, _ps_valid_from: 2024-06-02, _ps_is_deleted: true}
                - {id: 3, _ps_valid_from: 2024-06-02, _ps_is_deleted: false}
        """
    ) == [()]


def test_earlier_successes_are_the_base_of_row_count_change(project) -> None:
    project.place.write(
        "models/m/counted.sql",
        """\
        {{ config(materialized='table', checks={'after': [
            {'type': 'row_count_change', 'max_increase_percent': 50, 'name': 'grown'}]}) }}
        select id from {{ source('raw', 'users') }}
        """,
    )
    test = """\
          - name: {name}
            model: counted
            given:
              inputs: {{raw.users: {{rows: [{{id: 1}}, {{id: 2}}, {{id: 3}}]}}}}
              state: {{history: [{{rows: 9, executed_at: 1999-01-01}}, {{rows: {rows}}}]}}
            expect: {{status: {status}, checks: {{grown: {check}}}, row_count: 3}}
"""
    tests = test.format(name="two", rows=2, status="success", check="passed")
    tests += test.format(name="one", rows=1, status="failed", check="failed")

    assert project.told(f"        unit_tests:\n{tests}") == [(), ()]


@pytest.mark.matrix
def test_a_gate_that_nobody_names_fails_the_test_and_a_mode_can_be_given(project) -> None:
    project.place.write(
        "models/m/gated.sql",
        """\
        {{ config(materialized='table', checks={'after': [
            {'type': 'row_count', 'min': 2, 'name': 'enough'}]}) }}
        select id from {{ source('raw', 'users') }}
        """,
    )

    assert project.told(
        """\
        unit_tests:
          - &one
            name: flagged
            model: gated
            given: {inputs: {raw.users: {rows: [{id: 1}]}}, target: {rows: [{id: 9}]}}
            expect: {rows: [{id: 1}]}
          - <<: *one
            name: blocked
            on_failure: block
            expect: {rows: [{id: 9}], status: failed, checks: {enough: failed}, unchanged: true}
        """
    ) == [
        (
            (
                "status: success expected, failed found: "
                "after-check-failed: gated: enough: rows 1 < min 2"
            ),
            "checks: enough failed: rows 1 < min 2",
        ),
        (),
    ]


@pytest.mark.matrix
def test_a_tolerance_lets_doubles_differ(project) -> None:
    project.place.write(
        "models/m/halved.sql",
        "{{ config(materialized='table') }}\n"
        "select id / 3D as third from {{ source('raw', 'users') }}",
    )
    given = "given: {inputs: {raw.users: {rows: [{id: 1}, {id: 2}]}}}"

    assert project.told(
        f"""\
        unit_tests:
          - name: exact
            model: halved
            {given}
            expect: {{rows: [{{third: 0.3333333333}}, {{third: 0.6666666667}}], tolerance: 1e-9}}
          - name: too_exact
            model: halved
            {given}
            expect: {{rows: [{{third: 0.3333333333}}, {{third: 0.6666666667}}]}}
        """
    ) == [(), ("rows: 2 expected, 2 found: 2 missing, 2 unexpected",)]
