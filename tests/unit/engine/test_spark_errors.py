"""What Spark and Delta raise, and what users read instead."""

import pytest

from penstock.core.errors import (
    ConcurrentWriterError,
    DataError,
    InterruptedRunError,
    ModelFailedError,
    QueryError,
    TableError,
)
from penstock.core.findings import Location
from penstock.engine.spark_errors import explained, explaining

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


WRITE = "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to s3."
WORKER = """\
org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the \
Python worker: Traceback (most recent call last):
  File "/w/shop/models/m/f.py", line 7, in rate
    return share(x)
           ^^^^^^^^
  File "/w/shop/lib/numbers.py", line 2, in share
    return 10 // (x - 1)
           ~~~^^~~~~~~~~
  File "/w/shop/.venv/lib/python3.11/site-packages/numpy/core.py", line 99, in divide
ZeroDivisionError: integer division
File "models/m/of.sql", line 3, in x
 SQLSTATE: 38000"""
STAGE = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed "
    "4 times, most recent failure: Lost task 0.3 in stage 3.0 (TID 7) (10.0.0.1 executor 2): "
)
STACK = "\n\tat org.apache.spark.executor.Executor.run(Executor.scala:897)"
DIVIDED = (
    "org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero. Use "
    "`try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "
    '"spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012'
    "\n== SQL (line 3, position 8) =="
)
RAISED = "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] {} SQLSTATE: P0001"


def chain(*texts):
    """Return what Py4J raises of Java exceptions, outermost first."""
    java = None
    for text in reversed(texts):
        java = Java(text, java)
    return Py4JJavaError(f"An error occurred while calling o80.sql.\n: {texts[0]}", java)


@pytest.mark.parametrize(
    "error",
    [
        chain(WRITE, WORKER),
        chain(
            WRITE + STACK, "org.apache.spark.SparkException: [FAILED_EXECUTE_UDF] It failed", WORKER
        ),
        chain(f"{STAGE}{WRITE}{STACK}\nCaused by: {WORKER}{STACK}\n\nDriver stacktrace:"),
        chain(f"{STAGE}{WORKER}{STACK}\n\nDriver stacktrace:"),
        Exception(WORKER.partition("[PYTHON_EXCEPTION] ")[2]),
    ],
)
def test_a_function_that_raised_in_a_job_is_told_by_its_last_line_and_innermost_own_line(error):
    found = explained(error, MODEL, "/w/shop")

    assert isinstance(found, ModelFailedError)
    assert (found.code, found.sentence, found.where) == (
        "model-failed",
        "share raised ZeroDivisionError: integer division",
        Location("lib/numbers.py", 2),
    )


def test_of_tracebacks_that_follow_each_other_the_last_one_was_raised():
    chained = (
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        '  File "/w/a.py", line 1, in f\nKeyError: 1\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/w/a.py", line 3, in <lambda>\nshop.Own: no such one\n'
    )

    found = explained(chain(WRITE, chained), Location("/w/a.py", 9))

    assert (found.sentence, found.where) == (
        "a function raised shop.Own: no such one",
        Location("/w/a.py", 3),
    )


def test_a_function_of_no_file_of_the_project_is_told_at_its_model():
    error = chain(
        WRITE,
        WORKER.replace("/w/shop/models", "/x/lib/python3.11/site-packages").replace(
            "/w/shop/lib/numbers.py", "pyarrow/array.pxi"
        ),
    )

    assert explained(error, Location("models/m/g.py", 4), "/w/shop").where == Location(
        "models/m/g.py", 4
    )


@pytest.mark.parametrize(
    ("error", "code", "sentence", "line", "hint"),
    [
        (
            chain(WRITE, DIVIDED),
            "spark-divide-by-zero",
            "Division by zero.",
            3,
            "correct the rows, or write try_divide to get NULL instead",
        ),
        (
            chain(f"{STAGE}{WRITE}{STACK}\nCaused by: {DIVIDED}{STACK}"),
            "spark-divide-by-zero",
            "Division by zero.",
            3,
            "correct the rows, or write try_divide to get NULL instead",
        ),
        (
            chain(WRITE, "java.lang.IllegalArgumentException: requirement failed: Illegal bounds"),
            "spark-error",
            "requirement failed: Illegal bounds",
            1,
            "read the message, and the log that the run names",
        ),
        (
            chain(
                WRITE, RAISED.format("bad: [CAST_INVALID_INPUT] x. Traceback (line 3, pos 9)\ny")
            ),
            "spark-user-raised-exception",
            "bad: [CAST_INVALID_INPUT] x. Traceback (line 3, pos 9) y",
            1,
            "correct the rows, or the condition of raise_error or assert_true in the SQL",
        ),
        (
            Exception(UNRESOLVED),
            "spark-unresolved-column",
            "A column, variable, or function parameter with name `amuont` cannot be resolved.",
            6,
            "did you mean one of `amount`, `id`?",
        ),
        (
            Exception(PARSE),
            "spark-parse-syntax-error",
            "Syntax error at or near 'form'.",
            3,
            "correct the query; penstock show MODEL prints its SQL",
        ),
    ],
)
def test_the_innermost_condition_is_the_reason_and_its_advice_the_hint(
    error, code, sentence, line, hint
):
    found = explained(error, MODEL)

    assert (found.code, found.sentence, found.where, found.hint) == (
        code,
        sentence,
        Location("models/users.sql", line),
        hint,
    )


@pytest.mark.parametrize("path", ["models/m/f.py", "models/days.yaml", "entities/x.json"])
def test_a_line_of_a_query_is_no_line_of_a_file_that_is_not_sql(path):
    assert explained(chain(WRITE, DIVIDED), Location(path, 7)).where == Location(path, 7)


def test_what_somebody_raises_by_the_words_of_delta_is_not_taken_for_deltas():
    said = RAISED.format("ConcurrentAppendException [DELTA_NOT_NULL_CONSTRAINT_VIOLATED]")

    assert explained(chain(WRITE, said), MODEL).code == "spark-user-raised-exception"


def test_what_spark_raised_is_the_cause():
    raised = chain(WRITE, DIVIDED)

    with pytest.raises(QueryError) as caught, explaining(MODEL):
        raise raised

    assert caught.value.__cause__ is raised
