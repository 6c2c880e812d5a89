"""Test files as values."""

import datetime as dt

from penstock.core.names import InputKind, InputName
from penstock.project.unit_tests.definition import Earlier


def test_our_shape_and_that_of_dbt_say_the_same(load) -> None:
    ours = load(
        """\
        unit_tests:
          - name: a
            model: users
            given:
              inputs: {raw.users: {rows: [{id: 1}]}}
              target: {rows: [{id: 2}]}
            expect: {rows: [{id: 1}, {id: 2}]}
        """
    )
    dbts = load(
        """\
        unit_tests:
          - name: a
            model: users
            given:
              - {input: "source('raw', 'users')", rows: [{id: 1}]}
              - {input: this, rows: [{id: 2}]}
            expect: {rows: [{id: 1}, {id: 2}]}
        """
    )

    assert (ours.findings, dbts.findings) == ((), ())
    assert _told(ours.tests[0]) == _told(dbts.tests[0])


def _told(test):
    given, expect = test.runs[0].given, test.runs[0].expect
    tables = [*given.inputs.values(), given.target, expect.rows]
    texts = [[{k: c.plain for k, c in row.items()} for row in table.rows] for table in tables]
    return list(given.inputs), texts, given.target.file_types


def test_what_a_run_leaves_out_it_has_of_its_test(load) -> None:
    loaded = load(
        """\
        unit_tests:
          - name: a
            model: daily
            tags: quick
            as_of: 2024-03-01T00:00:00+01:00
            partition: 2024-02-01
            on_failure: block
            given:
              inputs: {raw.bare: {rows: [{d: 2024-02-01}]}}
              state: {history: [{partition: 2024-01-31, rows: 3, executed_at: 2024-02-01}]}
            runs:
              - {expect: {row_count: 1}}
              - {as_of: 2024-03-02, from: 2024-02-01, to: 2024-02-02, expect: {commits: 1}}
        """
    )

    test = loaded.tests[0]
    first, second = test.runs
    utc = dt.UTC
    assert loaded.findings == ()
    assert (test.tags, test.written) == (("quick",), "marts.daily")
    assert (first.as_of, second.as_of) == (
        dt.datetime(2024, 2, 29, 23, tzinfo=utc),
        dt.datetime(2024, 3, 2, tzinfo=utc),
    )
    assert [(run.first, run.last) for run in test.runs] == [
        ("2024-02-01", "2024-02-01"),
        ("2024-02-01", "2024-02-02"),
    ]
    assert [str(run.on_failure) for run in test.runs] == ["block", "block"]
    assert list(first.given.inputs) == [InputName(InputKind.SOURCE, "raw.bare")]
    assert second.given.inputs == {}
    assert first.given.history == (Earlier("2024-01-31", 3, dt.datetime(2024, 2, 1, tzinfo=utc)),)
    assert [run.expect.row_count for run in test.runs] == [1, None]


def test_a_partition_lies_behind_the_run_that_names_no_time(load) -> None:
    loaded = load(
        """\
        unit_tests:
          - name: a
            model: daily
            partition: 2024-02-01
            given: {inputs: {raw.bare: {rows: [{d: 2024-02-01}]}}}
            expect: {rows: []}
        """
    )

    assert loaded.tests[0].runs[0].as_of == dt.datetime(2024, 2, 2, tzinfo=dt.UTC)


def test_tests_stand_beside_the_descriptions_of_models_too(load) -> None:
    text = """\
        version: 2
        models: [{name: shown, description: One row}]
        unit_tests: [{name: b, model: shown, expect: {rows: [{one: 1}]}}]
        """

    loaded = load(
        "unit_tests: [{name: a, model: shown, expect: {rows: []}}]", **{"models/x.yml": text}
    )

    assert loaded.findings == ()
    assert [(test.name, str(test.where)) for test in loaded.tests] == [
        ("a", "tests/t.yml:1:14"),
        ("b", "models/x.yml:3:14"),
    ]
