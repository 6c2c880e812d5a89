"""Unit tests of entities: slices are given, and what their steps leave is compared."""

from __future__ import annotations

import pytest

from fakes.entity_files import PATH, document, entity

pytestmark = pytest.mark.matrix

DATED = [
    {"name": "ID", "datatype": "long", "fieldroles": ["businesskey"]},
    {"name": "Unit Price", "newname": "price", "datatype": "decimal(9, 2)"},
    {"name": "SeqNr", "datatype": "int"},
]
CHEAP = {"type": "column_check", "name": "cheap", "column": "price", "check": "MAX({column}) < 100"}


def test_slices_are_cast_merged_inferred_counted_and_checked(project) -> None:
    merged = entity(
        columns=DATED,
        settings={"delete_missing": True, "slice_pattern": "**/*.parquet"},
        checks={"after": [{**CHEAP, "severity": "warning"}]},
    )
    kept = entity(2, "kept", "historic", columns=DATED)
    whole = entity(
        3,
        "whole",
        settings={"bronze_table": "raw.users"},
        watermark=None,
        columns=[{"name": "id", "fieldroles": ["businesskey"]}],
    )
    project.place.write(PATH, document(merged, kept, whole))

    assert project.told(
        """\
        unit_tests:
          - name: two_slices_and_a_third_one
            model: silver_aw.x
            runs:
              - given:
                  slices:
                    day=1/b.parquet:
                      rows:
                        - {ID: 1, Unit Price: "10.50", SeqNr: 2}
                        - {ID: 2, Unit Price: "7", SeqNr: 3}
                    day=1/a.parquet: {rows: [{ID: 1, Unit Price: "9", SeqNr: 1}]}
                expect:
                  metrics: {recordsInSlice: 3, inserted: 2, updated: 1}
                  commits: 2
                  watermark: {SeqNr: 3}
                  checks: {cheap: passed}
                  rows:
                    - {ID: 1, price: 10.50, p_source_filename: day=1/b.parquet, day: 1}
                    - {ID: 2, price: 7, p_source_filename: day=1/b.parquet, day: 1}
              - given: {slices: {day=2/c.parquet: {rows: [{ID: 3, Unit Price: 120, SeqNr: 3}]}}}
                expect:
                  metrics: {inserted: 1, inferred_deleted: 1}
                  checks: {cheap: failed}
                  columns: {price: "DECIMAL(9,2)"}
                  rows:
                    - {ID: 1, price: 10.50, p_deleted: false}
                    - {ID: 2, price: 7, p_deleted: true}
                    - {ID: 3, price: 120, p_deleted: false}
          - name: a_text_that_is_no_price
            model: silver_aw.x
            given: {slices: {a.parquet: {rows: [{ID: 1, Unit Price: cheap, SeqNr: 1}]}}}
            expect_error: {code: cast-failed, contains: cheap}
          - name: a_slice_without_rows
            model: silver_aw.x
            given: {slices: {a.parquet: {rows: []}}}
            expect: {row_count: 0, metrics: {recordsInSlice: 0}}
          - name: no_run_takes_it
            model: silver_aw.x
            given: {slices: {a.csv: {rows: [{ID: 1, Unit Price: 1, SeqNr: 1}]}}}
            expect: {row_count: 1}
          - name: versions
            model: silver_aw.kept
            runs:
              - as_of: 2024-06-01
                given: {slices: {a.parquet: {rows: [{ID: 1, Unit Price: 1, SeqNr: 1}]}}}
              - as_of: 2024-06-02
                given: {slices: {b.parquet: {rows: [{ID: 1, Unit Price: 2, SeqNr: 2}]}}}
            expect:
              rows:
                - {ID: 1, price: 1, p_ValidFrom: 2024-06-01, p_ValidTo: 2024-06-02}
                - {ID: 1, price: 2, p_ValidFrom: 2024-06-02, p_ValidTo: }
          - name: a_whole_source
            model: silver_aw.whole
            given: {inputs: {raw.users: {rows: [{id: 1, email: a}]}}}
            expect: {rows: [{id: 1, email: a, p_deleted: false}], metrics: {inserted: 1}}
        """
    ) == [
        (),
        (),
        (),
        (
            (
                "tests/users.yml:39:36: bad-value: slice 'a.csv' does not fit '**/*.parquet', "
                "so no run takes it"
            ),
        ),
        (),
        (),
    ]
