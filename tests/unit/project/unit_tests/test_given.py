from __future__ import annotations

import pytest

from penstock.core.findings import Location

USERS = "given: {inputs: {raw.users: {rows: [{id: 1}]}}}"


CHECKED = """\
    {{ config(materialized='append', time_column='at', checks={
        'before': [{'type': 'row_count', 'min': 1, 'name': 'some', 'input': 'raw.timed'}],
        'after': [{'type': 'row_count', 'min': 1, 'name': 'some'},
                  {'type': 'not_null', 'column': 'at', 'name': 'dated'}]}) }}
    select id, at from {{ source('raw', 'timed') }}
    """


TIMED = """\
    sources:
      - name: raw
        tables:
          - name: timed
            path: ../landing/timed
            columns: [{name: id, type: INT}, {name: at, type: TIMESTAMP}]
    """


KEPT = """\
    {{ config(materialized='snapshot', unique_key='id', check_cols='all',
              snapshot={'strategy': 'check'}) }}
    select id, email from {{ source('raw', 'users') }}
    """


MORE = {
    "models/marts/log.sql": CHECKED,
    "models/timed.yml": TIMED,
    "models/snapshots/kept.sql": KEPT,
}


@pytest.fixture
def said(told):
    """Load one test, written as its keys, and give the findings without their file."""

    def findings(keys: str, **more: str) -> list[str]:
        found = told(f"unit_tests:\n  - {{name: a, {keys}}}\n", **{**MORE, **more})
        return [line.partition(": error: ")[2] for line in found]

    return findings


@pytest.mark.parametrize("key", ["rows", "csv", "sql", "file", "watermark", "quarantine"])
def test_null_in_expect_is_no_value(said, key) -> None:
    assert said(f"model: users, {USERS}, expect: {{row_count: 1, {key}: }}") == [
        f"bad-value: {key} is null; it must be a value, or left out"
    ]


def test_an_expect_without_keys_expects_nothing(said) -> None:
    assert said(f"model: users, {USERS}, expect: {{}}") == [
        "test-without-expectation: expect says nothing; hint: give rows, or another key of expect"
    ]


def test_one_input_is_given_once_under_whichever_name(said) -> None:
    twice = (
        "given: {inputs: {raw.users: {rows: [{id: 1}]}, \"source('raw', 'users')\": {rows: []}}}"
    )
    once = "{input: raw.users, rows: [{id: 1}]}"
    listed = f"given: [{once}, {{input: raw.users, rows: []}}]"
    own = f"given: [{once}, {{input: this, rows: [{{id: 1}}]}}, {{input: this, rows: []}}]"

    assert said(f"model: users, {twice}, expect: {{rows: []}}") == [
        (
            "bad-value: \"source('raw', 'users')\" is given twice; the first is on line 2; "
            "hint: keep one of them"
        )
    ]
    assert said(f"model: users, {listed}, expect: {{rows: []}}") == [
        "bad-value: 'raw.users' is given twice; the first is on line 2; hint: keep one of them"
    ]
    assert said(f"model: users, {own}, expect: {{rows: []}}") == [
        "bad-value: 'this' is given twice; the first is on line 2; hint: keep one of them"
    ]


def test_watermarks_are_of_a_column_that_carries_one_and_of_its_type(said) -> None:
    timed = "given: {inputs: {raw.timed: {rows: [{id: 1}]}}, state: {watermark: %s}}"

    def of_log(mark: str, expected: str = "2024-01-01") -> list[str]:
        return said(f"model: log, {timed % mark}, expect: {{watermark: {expected}}}")

    assert of_log("2024-01-01") == []
    assert of_log("soon") == ["bad-test-value: 'soon' is not a TIMESTAMP"]
    assert of_log("2024-01-01", "{timed.at: soon}") == ["bad-test-value: 'soon' is not a TIMESTAMP"]
    assert of_log("{timed.id: 1}") == [
        ("unknown-column: watermark 'timed.id': the model has raw.timed.at; hint: name one of them")
    ]
    users = "given: {inputs: {raw.users: {rows: [{id: 1}]}}, state: {watermark: 1}}"
    assert said(f"model: users, {users}, expect: {{watermark: 1}}") == [
        "bad-value: users has no watermark; hint: leave it out",
        "bad-value: users has no watermark; hint: leave it out",
    ]


def test_earlier_successes_name_a_partition_exactly_where_there_are_some(said) -> None:
    def of(model: str, given: str, history: str) -> list[str]:
        inputs = f"inputs: {{{given}: {{rows: [{{id: 1}}]}}}}, state: {{history: [{history}]}}"
        return said(f"model: {model}, given: {{{inputs}}}, expect: {{rows: []}}")

    daily = "daily, partition: 2024-01-01"
    assert of("users", "raw.users", "{rows: 1, partition: soon}") == [
        "option-conflict: users has no partitions; hint: leave it out"
    ]
    assert of(daily, "raw.bare", "{rows: 1, partition: soon}") == [
        "invalid-partition: 'soon' is not a DAY partition. Expected YYYY-MM-DD."
    ]
    assert of(daily, "raw.bare", "{rows: 1}") == [
        "missing-key: a success in history needs partition"
    ]
    assert of(daily, "raw.bare", "{rows: 1, partition: 2024-01-01}") == []


def test_a_fixture_of_sql_is_read_as_sql(load) -> None:
    text = """\
        unit_tests:
          - name: a
            model: users
            given: [{input: raw.users, format: sql, fixture: two}]
            expect: {rows: []}
        """

    loaded = load(text, **{"tests/fixtures/two.sql": "select 2 as id;\n"})

    (table,) = loaded.tests[0].runs[0].given.inputs.values()
    assert (loaded.findings, table.query, table.where) == (
        (),
        "select 2 as id",
        Location("tests/fixtures/two.sql"),
    )
