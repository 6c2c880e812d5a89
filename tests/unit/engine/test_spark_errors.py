"""What Spark and Delta raise, and what users read instead."""

import pytest

from penstock.core.errors import (
    ConcurrentWriterError,
    DataError,
    InterruptedRunError,
    QueryError,
    TableError,
)
from penstock.core.findings import Location
from penstock.engine.spark_errors import explained

MODEL = Location("models/users.sql")


class Java:
    """A Java exception as Py4J shows it, with what caused it."""

    def __init__(self, text, cause=None):
        self._text, self._cause = text, cause

    def toString(self):
        return self._text

    def getCause(self):
        return self._cause


class Py4JJavaError(Exception):
    def __init__(self, text, java):
        super().__init__(text)
        self.java_exception = java


UNRESOLVED = """\
[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `amuont` \
cannot be resolved. Did you mean one of the following? [`amount`, `id`]. SQLSTATE: 42703
== SQL (line 6, position 5) ==
    amuont
    ^^^^^^;
'Project [id#1, 'amuont]
"""
PARSE = """

[PARSE_SYNTAX_ERROR] Syntax error at or near 'form'. SQLSTATE: 42601 (line 3, pos 9)

== SQL ==
select
  id
  n form users
---------^^^
"""
GONE = (
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhere` cannot be found. Verify the spelling. "
    "SQLSTATE: 42P01; line 2 pos 5;\n'Project [*]"
)
CAST = (
    '[CAST_INVALID_INPUT] The value \'x\' of the type "STRING" cannot be cast to "INT" because '
    "it is malformed. Correct the value.\n== SQL (line 4, position 8) =="
)


@pytest.mark.parametrize(
    ("text", "code", "sentence", "line"),
    [
        (
            UNRESOLVED,
            "spark-unresolved-column",
            "A column, variable, or function parameter with name `amuont` cannot be resolved.",
            6,
        ),
        (PARSE, "spark-parse-syntax-error", "Syntax error at or near 'form'.", 3),
        (
            GONE,
            "spark-table-or-view-not-found",
            "The table or view `nowhere` cannot be found.",
            2,
        ),
        (
            CAST,
            "spark-cast-invalid-input",
            'The value \'x\' of the type "STRING" cannot be cast to "INT" because it is malformed.',
            4,
        ),
        ("Something odd", "spark-error", "Something odd", 1),
        ("", "spark-error", "Spark gave no message", 1),
    ],
)
def test_a_refused_query_names_code_first_sentence_and_line(text, code, sentence, line):
    error = explained(Exception(text), MODEL)

    assert isinstance(error, QueryError)
    assert (error.code, error.sentence) == (code, sentence)
    assert error.where == Location("models/users.sql", line)


def test_without_a_model_there_is_no_place():
    assert explained(Exception(UNRESOLVED)).where is None


@pytest.mark.parametrize(
    "text",
    [
        "An error occurred while calling o5.sql.\n: io.delta.ConcurrentAppendException: …",
        "[DELTA_CONCURRENT_APPEND] Files were added to the root of the table",
        "io.delta.exceptions.MetadataChangedException: [DELTA_METADATA_CHANGED] …",
        "[DELTA_PROTOCOL_CHANGED] ProtocolChangedException: The protocol version was changed",
    ],
)
def test_a_conflict_of_commits_is_another_writer(text):
    error = explained(Exception(text), MODEL)

    assert isinstance(error, ConcurrentWriterError)
    assert (error.code, error.hint) == (
        "concurrent-writer",
        "run again; nothing of this step was written",
    )


def test_a_conflict_is_found_below_what_spark_wraps_it_in():
    cause = Java("io.delta.exceptions.ConcurrentDeleteReadException: …")
    wrapped = Py4JJavaError("Job failed", Java("org.apache.spark.SparkException: …", cause))

    assert isinstance(explained(wrapped, MODEL), ConcurrentWriterError)


def test_a_message_of_java_is_told_without_py4j_and_class_names():
    told = "An error occurred while calling o41.sql.\n: java.io.IOException: No space left\n\tat x"

    error = explained(Py4JJavaError(told, Java("java.io.IOException: No space left")), MODEL)

    assert (error.code, error.sentence) == ("spark-error", "No space left")


@pytest.mark.parametrize(
    "text",
    [
        "[SPARK_JOB_CANCELLED] Job 3 cancelled as part of cancelled job tags penstock-1",
        "org.apache.spark.SparkException: Job 3 cancelled",
    ],
)
def test_a_cancelled_job_is_an_interrupted_run(text):
    assert isinstance(explained(Exception(text), MODEL), InterruptedRunError)


def test_a_column_about_cancelled_jobs_is_none():
    error = explained(Exception("[UNRESOLVED_COLUMN] A column `cancelled_jobs` is unknown."))

    assert isinstance(error, QueryError)


def test_a_guard_of_ours_keeps_its_code_and_sentence():
    text = "[USER_RAISED_EXCEPTION] penstock:null-key: id is NULL SQLSTATE: P0001\n\tat org.x.Y"

    error = explained(Exception(text), MODEL)

    assert isinstance(error, DataError)
    assert (error.code, error.sentence) == ("null-key", "id is NULL")


def test_a_file_that_cannot_be_read_is_the_tables_fault():
    error = explained(Exception("[FAILED_READ_FILE.NO_HINT] Encountered error. More"), MODEL)

    assert isinstance(error, TableError)
    assert (error.code, error.sentence) == ("table-unreadable", "Encountered error.")


def test_an_error_of_ours_stays_as_it_is():
    ours = TableError("source-empty", "…")

    assert explained(ours, MODEL) is ours
