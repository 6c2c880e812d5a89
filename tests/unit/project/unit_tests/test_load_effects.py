"""Nothing that a test says is accepted without an effect: each of these is a finding."""

from __future__ import annotations

import pytest

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
        f"bad-test-value: column 'id' is DECIMAL(38,0): '{more}' is not a value of DECIMAL(38,0)"
    ]


@pytest.mark.parametrize(
    ("expect", "finding"),
    [
        *(
            (
                f"{{row_count: 1, {key}: {{}}}}",
                (
                    f"{key} is empty, so that nothing is compared; "
                    f"hint: name what must hold under {key}, or leave it out"
                ),
            )
            for key in ("columns", "metrics", "checks", "watermark")
        ),
        (
            "{rows: [{}]}",
            "no row of rows names a column; hint: name columns in a row, or give row_count",
        ),
        (
            "{unchanged: false}",
            (
                "unchanged: false expects nothing; "
                "hint: leave it out, or expect rows or metrics that say what changed"
            ),
        ),
        (
            "{tolerance: 1e-9}",
            "tolerance is for rows, and none are expected; hint: expect rows, or leave it out",
        ),
    ],
)
def test_what_could_not_fail_is_no_expectation(said, expect, finding) -> None:
    assert said(f"model: users, {USERS}, expect: {expect}") == [
        f"test-without-expectation: {finding}"
    ]


def test_a_model_is_given_no_column_that_it_has_not(said) -> None:
    more = {
        "models/marts/star.sql": "select * from {{ ref('users') }}",
        "models/marts/far.sql": "select id from {{ ref('star') }}",
        "models/marts/near.sql": "select id from {{ ref('users') }} as u",
    }

    def of(model: str, rows: str, given: str = "users") -> list[str]:
        inputs = f"given: {{inputs: {{{given}: {rows}}}}}"
        return said(f"model: {model}, {inputs}, expect: {{rows: []}}", **more)

    assert of("near", "{rows: [{id: 1, emial: x, EMAIL: y}]}") == [
        "unknown-column: users has no column 'emial'; hint: did you mean 'email'?"
    ]
    assert of("far", "{rows: [{id: 1, mail: x}]}", "star") == [
        "unknown-column: star has no column 'mail'; hint: did you mean 'email'?"
    ]
    assert of("near", "{csv: 'nope', columns: {nope: INT}}") == [
        "unknown-column: users has no column 'nope'; hint: there are: email, id"
    ]


def test_a_variable_is_one_that_something_asks_for(said) -> None:
    more = {"models/marts/asking.sql": "select {{ var('most', 3) }} as n"}

    def of(name: str) -> list[str]:
        return said(f"model: asking, vars: {{{name}: 1}}, expect: {{rows: []}}", **more)

    assert of("most") == []
    assert of("mots") == [
        "missing-var: vars: no model or macro asks for 'mots'; hint: did you mean 'most'?"
    ]
