"""What is wrong with test files, all at once and without a JVM."""

from fakes.entity_files import entity, files


def test_missing_unknown_too_large_and_untyped_are_told_with_their_places(told) -> None:
    assert told(
        """\
        unit_tests:
          - name: a
            model: both
            given:
              inputs:
                raw.bare: {rows: [{x: null}]}
                raw.other: {rows: []}
            expect: {rows: []}
          - name: b
            model: staging.users
            given: {inputs: {raw.users: {rows: [{id: 1}, {id: 300}]}}}
            expect: {rows: []}
        """
    ) == [
        (
            "tests/t.yml:2:5: error: missing-input: 'a' does not give staging.users, which both "
            "reads; hint: add them under given.inputs: staging.users"
        ),
        (
            "tests/t.yml:6:31: error: test-type-unknown: column 'x' holds only NULL, and nothing "
            "says its type; hint: give columns: {x: TYPE}"
        ),
        (
            "tests/t.yml:7:9: error: unknown-input: both does not read 'raw.other'; "
            "hint: it reads: raw.bare, staging.users"
        ),
        (
            "tests/t.yml:11:55: error: bad-test-value: column 'id' is TINYINT: "
            "'300' is not a value of TINYINT"
        ),
    ]


def test_a_test_needs_a_known_model_a_name_of_its_own_and_an_expectation(told) -> None:
    assert told(
        """\
        unit_tests:
          - {name: a, model: shwon, expect: {rows: []}}
          - {name: b, model: shown, expect: {rows: []}}
          - {name: b, model: marts.shown, expect: {rows: []}}
          - {name: c, model: shown}
          - {model: shown, expect: {rows: []}, expect_error: x}
        """
    ) == [
        (
            "tests/t.yml:2:22: error: unknown-model: no model is called 'shwon'; "
            "hint: did you mean 'shown'?"
        ),
        (
            "tests/t.yml:4:5: error: duplicate-test: shown has a test 'b' already, in "
            "tests/t.yml:3:5; hint: rename one of them"
        ),
        (
            "tests/t.yml:5:5: error: test-without-expectation: 'c' expects nothing; "
            "hint: give expect or expect_error"
        ),
        "tests/t.yml:6:5: error: missing-key: a unit test needs name",
        "tests/t.yml:6:54: error: option-conflict: expect and expect_error exclude each other",
    ]


def test_unknown_keys_and_bad_values_name_what_is_allowed(told) -> None:
    assert told(
        """\
        unit_tests:
          - name: a
            model: shown
            givn: {}
            on_failure: stop
            full_refresh: 1
            as_of: soon
            version: 3
            expect:
              row: []
              status: succes
              checks: {x: passing}
              commits: many
              tolerance: 2
              columns: {a: TEXT}
        """
    ) == [
        "tests/t.yml:4:5: error: unknown-key: unknown key 'givn'; hint: did you mean 'given'?",
        (
            "tests/t.yml:5:17: error: bad-value: on_failure is 'stop'; "
            "it must be one of flag, block, rollback"
        ),
        "tests/t.yml:6:19: error: bad-value: full_refresh is '1'; it must be true or false",
        (
            "tests/t.yml:7:12: error: bad-value: as_of is 'soon'; "
            "it must be a time, for example 2024-06-02T00:00:00Z"
        ),
        "tests/t.yml:8:14: error: bad-value: shown has no version 3; hint: leave it out",
        "tests/t.yml:10:7: error: bad-value: shown has no check 'x'; hint: there are: none",
        "tests/t.yml:10:7: error: unknown-key: unknown key 'row'; hint: did you mean 'rows'?",
        (
            "tests/t.yml:11:15: error: bad-value: status is 'succes'; "
            "it must be one of success, failed, skipped, unchanged; hint: did you mean 'success'?"
        ),
        (
            "tests/t.yml:12:19: error: bad-value: x is 'passing'; "
            "it must be one of passed, failed, skipped; hint: did you mean 'passed'?"
        ),
        "tests/t.yml:13:16: error: bad-value: commits is 'many'; it must be an integer >= 0",
        (
            "tests/t.yml:14:18: error: bad-value: tolerance is '2'; "
            "it must be a number from 0 to below 1, for example 1e-9"
        ),
        (
            "tests/t.yml:14:18: error: test-without-expectation: tolerance is for rows, and none "
            "are expected; hint: expect rows, or leave it out"
        ),
        "tests/t.yml:15:20: error: bad-value: column 'a': 'TEXT' names no type",
    ]


def test_partitions_are_needed_where_a_model_has_some_and_refused_elsewhere(told) -> None:
    given = "given: {inputs: {raw.bare: {rows: [{d: 2024-01-01}]}}}, expect: {rows: []}"

    assert told(
        f"""\
        unit_tests:
          - {{name: a, model: daily, {given}}}
          - {{name: b, model: daily, partition: 2024-13-01, {given}}}
          - {{name: c, model: shown, partition: 2024-01-01, expect: {{rows: []}}}}
        """
    ) == [
        (
            "tests/t.yml:2:5: error: missing-key: daily has partitions; a test names one, "
            "or from and to; hint: partition: 2024-01-01"
        ),
        (
            "tests/t.yml:3:40: error: invalid-partition: '2024-13-01' is not a DAY partition: "
            "month must be 1 to 12, got 13. Expected YYYY-MM-DD."
        ),
        "tests/t.yml:4:40: error: option-conflict: shown has no partitions; hint: leave it out",
    ]


def test_a_target_stands_in_the_first_run_and_a_view_has_none(told) -> None:
    assert told(
        """\
        unit_tests:
          - {name: a, model: shown, given: {target: {rows: [{one: 1}]}}, expect: {rows: []}}
          - name: b
            model: users
            given: {inputs: {raw.users: {rows: [{id: 1}]}}}
            runs:
              - {as_of: 2024-01-01}
              - {given: {target: {rows: [{id: 1}]}}, expect: {rows: []}}
        """
    ) == [
        (
            "tests/t.yml:2:45: error: bad-value: shown is a view, which holds no rows before a "
            "step; hint: leave target out"
        ),
        (
            "tests/t.yml:8:9: error: bad-value: target is given in a later run, "
            "which starts from the table that the last one left; hint: give it in the first run"
        ),
    ]


def test_files_without_the_key_are_somebody_elses_and_broken_ones_are_findings(load, told) -> None:
    others = {"tests/other.yml": "a: [1\n", "tests/more/list.yaml": "- unit_tests_of_mine\n"}

    assert load("a: 1", **others).findings == ()
    assert told("unit_tests: [{a: 1}") == [
        (
            "tests/t.yml:1:20: error: yaml-syntax: expected ',' or ']', but got '<stream end>'; "
            "hint: quote the value if it is meant as text"
        )
    ]
    assert told("unit_tests: []\nunit_test: 1\n") == [
        (
            "tests/t.yml:2:1: error: unknown-key: unknown key 'unit_test'; "
            "hint: did you mean 'unit_tests'?"
        )
    ]


def test_no_tests_is_no_finding(load) -> None:
    assert load("version: 2\n") == load("unit_tests:\n")


def test_an_entity_is_given_slices_and_its_readers_are_given_its_rows(told) -> None:
    tests = """\
        unit_tests:
          - name: a
            model: reader
            given: {inputs: {silver_aw.x: {rows: [{ID: 1}], columns: {ID: INT}}}}
            expect: {rows: [{ID: 1}]}
          - name: b
            model: silver_aw.x
            given: {slices: {a.parquet: {rows: [{ID: 1, SeqNr: 2}]}}}
            expect: {rows: [{ID: 1}], metrics: {recordsInSlice: 1}, watermark: {SeqNr: 2}}
        """
    reader = {"models/reader.sql": "select ID from silver_aw.x"}

    assert told(tests, **files(entity()), **reader) == []


def test_what_is_given_to_an_entity_is_judged_before_anything_runs(told) -> None:
    tests = """\
        unit_tests:
          - {name: none, model: silver_aw.x, expect: {row_count: 0}}
          - name: odd
            model: silver_aw.x
            given:
              slices: {../a: {rows: [{ID: 1}]}, b: {rows: []}, c: {rows: [{ID: 1, note: }]}}
              target: {rows: [{ID: 1}]}
              state: {watermark: 1}
            expect: {metrics: {touchd: 0}, watermark: {SeqNo: 1}}
          - name: twice
            model: silver_aw.x
            runs:
              - given: {slices: {a: {rows: [{ID: 1}]}}}
              - given: {slices: {a: {rows: [{ID: 2}]}}}
            expect: {row_count: 2}
          - {name: sql, model: shown, given: {slices: {}}, expect: {row_count: 1}}
          - {name: whole, model: silver_aw.y, given: {slices: {}}, expect: {row_count: 1}}
        """
    whole = entity(2, "y", settings={"bronze_table": "bare.rows", "bronze_read": "whole"})

    assert [
        line.removeprefix("tests/t.yml:") for line in told(tests, **files(entity(), whole))
    ] == [
        (
            "2:5: error: missing-input: 'none' gives no slice, and silver_aw.x reads nothing else; "
            "hint: add one under given.slices: its name, and rows"
        ),
        "6:22: error: bad-value: '../a' is not a path below the bronze folder",
        (
            "6:51: error: test-type-unknown: a table without rows has no columns; "
            "hint: give columns: {name: TYPE}"
        ),
        (
            "6:80: error: test-type-unknown: column 'note' holds only NULL, and nothing says its "
            "type; hint: give columns: {note: TYPE}"
        ),
        (
            "7:15: error: bad-value: silver_aw.x is built from slices and sources; "
            "hint: give them to an earlier one of `runs` instead of target"
        ),
        (
            "8:14: error: bad-value: silver_aw.x is built from slices and sources; "
            "hint: give them to an earlier one of `runs` instead of state"
        ),
        "9:13: error: bad-value: silver_aw.x has no count 'touchd'; hint: did you mean 'touched'?",
        (
            "9:55: error: unknown-column: watermark 'SeqNo': the model has SeqNr; "
            "hint: name one of them"
        ),
        (
            "14:9: error: bad-value: slice 'a' was delivered in an earlier run; "
            "hint: give it another name"
        ),
        "16:47: error: unknown-input: shown reads no slices; hint: give inputs",
        (
            "17:5: error: missing-input: 'whole' does not give bare.rows, which silver_aw.y reads; "
            "hint: add them under given.inputs: bare.rows"
        ),
        "17:55: error: unknown-input: silver_aw.y reads a whole source; hint: give it under inputs",
    ]


def test_columns_that_rows_make_are_not_known_before_a_run(told) -> None:
    ask = "{% set f = run_query('select distinct x from ' ~ source('raw', 'bare')) %}"
    more = "{% if execute %}{% for x in f.columns[0] %}, 1 as {{ x }}{% endfor %}{% endif %}"
    models = {
        "models/pivot.sql": f"{ask}select 1 as id{more}",
        "models/over.sql": "select * from {{ ref('pivot') }}",
    }
    tests = """\
        unit_tests:
          - name: a
            model: over
            given: {inputs: {pivot: {rows: [{id: 1, card: 2}]}}}
            expect: {row_count: 1}
        """

    assert told(tests, **models) == []
