"""Nothing that a test says is accepted without an effect: each of these is a finding."""

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


@pytest.mark.parametrize(
    ("keys", "finding"),
    [
        (
            "from: 2024-01-02, to: 2024-01-01",
            "bad-value: from 2024-01-02 lies after to 2024-01-01",
        ),
        (
            "from: 2024-01-02",
            "missing-key: from and to are given together; hint: or give partition",
        ),
        ("to: 2024-01-02", "missing-key: from and to are given together; hint: or give partition"),
        (
            "partition: 2024-01-02, to: 2024-01-02",
            (
                "missing-key: daily has partitions; a test names one, or from and to; "
                "hint: partition: 2024-01-01"
            ),
        ),
    ],
)
def test_a_range_has_two_ends_in_their_order(said, keys, finding) -> None:
    given = "given: {inputs: {raw.bare: {rows: [{d: 2024-01-01}]}}}"

    assert said(f"model: daily, {keys}, {given}, expect: {{rows: []}}") == [finding]


def test_a_key_pairs_rows_only_by_columns_that_rows_name(said) -> None:
    test = f"model: users, {USERS}, key: [id, nope], expect: "

    assert said(test + "{rows: [{id: 1}]}") == [
        "bad-value: key: no expected row names nope; hint: they name: id"
    ]
    assert said(test + "{sql: select 1 as id}") == []


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


def test_is_incremental_needs_rows_that_are_there_already(said) -> None:
    macros = "overrides: {macros: {is_incremental: true}}"
    target = "given: {inputs: {raw.users: {rows: [{id: 1}]}}, target: {rows: [{id: 2}]}}"

    assert said(f"model: users, {USERS}, {macros}, expect: {{rows: []}}") == [
        (
            "missing-key: is_incremental is true, and no rows are given for the model's own "
            "table; hint: give input: this"
        )
    ]
    assert said(f"model: users, {target}, {macros}, expect: {{rows: []}}") == []


def test_a_test_that_is_not_enabled_is_left_out_whatever_it_says(load) -> None:
    loaded = load("unit_tests: [{name: a, model: gone, config: {enabled: false}, expect: {}}]")

    assert (loaded.tests, loaded.findings) == ((), ())


def test_names_of_checks_and_counts_are_those_of_the_model(said) -> None:
    test = "model: log, given: {inputs: {raw.timed: {rows: [{id: 1}]}}}, expect: "

    assert said(test + "{checks: {some: passed, datd: passed}}") == [
        (
            "bad-value: log has a check 'some' before and after its step; "
            "hint: name before.some or after.some"
        ),
        "bad-value: log has no check 'datd'; hint: did you mean 'dated'?",
    ]
    assert said(test + "{checks: {before.some: passed, after.some: passed, dated: passed}}") == []
    assert said(test + "{metrics: {insertd: 1, opened_new: 1}}") == [
        "bad-value: log has no count 'insertd'; hint: did you mean 'inserted'?",
        (
            "bad-value: log has no count 'opened_new'; "
            "hint: there are: inserted, updated, deleted, written, late"
        ),
    ]
    history = f"model: kept, {USERS}, expect: {{metrics: {{opened_new: 1, inserted: 1}}}}"
    assert said(history) == []


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


def test_a_version_in_the_target_of_a_history_has_a_beginning(said) -> None:
    def of(rows: str) -> list[str]:
        given = f"inputs: {{raw.users: {{rows: [{{id: 1}}]}}}}, target: {{rows: {rows}}}"
        return said(f"model: kept, given: {{{given}}}, expect: {{row_count: 1}}")

    assert of("[{id: 1, _ps_valid_from: 2024-01-01}, {id: 2}]") == [
        ("bad-test-value: a version needs _ps_valid_from; hint: give _ps_valid_from in every row")
    ]
    assert of("[{id: 1, valid_from: 2024-01-01}]") == [
        (
            "bad-test-value: a version needs _ps_valid_from; "
            "hint: give _ps_valid_from in every row; valid_from is _ps_valid_from here"
        )
    ]


def test_a_decimal_of_38_digits_is_a_value_of_its_type(said) -> None:
    types = "columns: {id: 'DECIMAL(38,0)'}"
    largest, more = "9" * 38, "1" + "0" * 38

    def of(number: str) -> list[str]:
        given = f"given: {{inputs: {{raw.users: {{rows: [{{id: {number}}}], {types}}}}}}}"
        return said(f"model: users, {given}, expect: {{row_count: 1}}")

    assert of(largest) == []
    assert of(f"-{largest}") == []
    assert of(more) == [
        f"bad-test-value: column 'id' is DECIMAL(38,0): '{more}' is no value of DECIMAL(38,0)"
    ]


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
