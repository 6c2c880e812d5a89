"""What users read of rows and tables that Delta refuses to a partitioned model."""

import pytest

from penstock.core.errors import DataError, TableError
from penstock.core.findings import Location
from penstock.engine.spark_errors import explained

MODEL = Location("queries/daily.yaml")
NOT_NULL = (
    "[DELTA_REPLACE_WHERE_MISMATCH] Written data does not conform to partial table overwrite.\n"
    "[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] NOT NULL constraint violated for column: n.\n"
)
MISMATCH = (
    "[DELTA_REPLACE_WHERE_MISMATCH] Written data does not conform to partial table overwrite "
    "condition or constraint 'date < x'.\n[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK …"
)
GUARD = (
    "[USER_RAISED_EXCEPTION] penstock:row-outside-partition: a.daily 2024-12-02: the query "
    "returned date = 2024-12-05 SQLSTATE: P0001"
)


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        (
            GUARD,
            "row-outside-partition",
            "a.daily 2024-12-02: the query returned date = 2024-12-05",
        ),
        (
            MISMATCH,
            "row-outside-partition",
            (
                "Written data does not conform to partial table overwrite condition or constraint "
                "'date < x'."
            ),
        ),
        (NOT_NULL, "null-in-required-column", "NOT NULL constraint violated for column: n."),
    ],
)
def test_rows_that_are_refused_are_the_querys_fault_and_come_with_a_way_out(text, code, sentence):
    error = explained(Exception(text), MODEL)

    assert isinstance(error, DataError)
    assert (error.code, error.sentence) == (code, sentence)
    assert error.hint


def test_sql_that_spark_quotes_is_no_guard_that_failed():
    quoted = (
        "[CAST_INVALID_INPUT] The value 'x' cannot be cast. SQLSTATE: 22018\n== SQL (line 1, "
        "position 8) ==\nELSE raise_error(concat('penstock:', 'row-outside-partition: ', 'a.daily"
    )

    assert explained(Exception(quoted), MODEL).code == "spark-cast-invalid-input"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "Not all files from version 2 are available in file system.\n Missed files …",
            "rollback-vacuumed",
        ),
        (
            "[DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE] Replacing a clustered …",
            "clustered-table",
        ),
    ],
)
def test_what_cannot_be_done_with_a_table_is_the_tables_fault(text, code):
    error = explained(Exception(text), MODEL)

    assert isinstance(error, TableError)
    assert error.code == code
    assert error.hint
