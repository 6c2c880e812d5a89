"""Turning what Spark and Delta raise into errors that name the model's file and line."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.core import errors
from penstock.core.errors import PenstockError
from penstock.core.findings import Location
from penstock.core.masking import mask
from penstock.engine.jvm import JVM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Cause: TypeAlias = Callable[[str], PenstockError | None]

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]\s*")
_CONTEXT_LINE = re.compile(r"== SQL[^=]*\(line (\d+), position \d+\) ==")
_PARSE_LINE = re.compile(r"line (\d+),? pos(?:ition)? \d+")
_CANCELLED = re.compile(r"SPARK_JOB_CANCELLED|\bJob \d+ cancelled\b")
_RAISED = re.compile(  # what Py4J and Java put before a message
    r"(?:An error occurred while calling \S+\.\s*)?(?::\s*)?(?:[a-z]\w*\.)+[A-Z]\w*: "
)
_OURS = re.compile(r"penstock:([a-z-]+): ([^\n]*?)(?:\s*;;|\s*SQLSTATE|$)", re.MULTILINE)
_HINTS = {
    "history-changed-underneath": "run again; if it is said again: penstock snapshot verify MODEL",
    "row-outside-partition": "filter the query by @partition_date",
    "empty-partition-value": "select NULL or another text in its place",
    "rows-outside-window": "say grain= if the function aggregates, or window_on= for the inputs",
    "null-in-required-column": "leave such rows out, or make the column NULLABLE",
}
_BY_DELTA = {  # what Delta finds by itself where our own guards did not look
    "DELTA_NOT_NULL_CONSTRAINT_VIOLATED": "null-in-required-column",
    "DELTA_REPLACE_WHERE_MISMATCH": "row-outside-partition",
}
_FILES_GONE = re.compile(r"Not all files from version (\d+) are available")
_CONFLICT = re.compile(
    r"Concurrent(Append|DeleteRead|DeleteDelete|Transaction|Write)Exception"
    r"|(Metadata|Protocol)ChangedException|DELTA_(CONCURRENT|(METADATA|PROTOCOL)_CHANGED)"
)


_STOPPED = re.compile(
    "SparkContext (?:was|has been) (?:shut down|stopped)|stopped SparkContext|ShutdownHook"
)


@contextmanager
def explaining(
    where: Location | None,
    cause: Cause = lambda _: None,
    interrupted: Callable[[], bool] = bool,
) -> Iterator[None]:
    """Let what Spark raises become the error that `explained` gives, or of which it is the cause.

    `cause` is asked with all that Spark said, where it said something. What Spark raises once the
    run was `interrupted` comes of that, whatever it says.
    """
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is has words of ours, or is raised
        found = explained(error, where)
        if interrupted() and not isinstance(found, errors.SparkDiedError):
            found = errors.interruption(where)
        if not isinstance(found, errors.SparkDiedError | errors.InterruptedRunError):
            found = cause("\n".join(_texts(error))) or found
        # Spark's own words, with rows and stack, stay where a debugger finds them: __context__
        raise found from None


def explained(error: BaseException, where: Location | None = None) -> PenstockError:
    """Give the error of ours that says what a Spark error means; `where` is the model's file."""
    if isinstance(error, PenstockError):
        return error
    if JVM.is_lost(error):
        return JVM.lost()
    try:
        text = mask("\n".join(_texts(error)))  # before anything of it is cut
    except Exception as unreadable:  # the JVM is asked for its messages, and may die over it
        if not JVM.is_lost(unreadable):
            raise
        return JVM.lost()
    if _STOPPED.search(text) and JVM.has_ended(soon=True):  # it was told to end
        return JVM.lost()
    return _error_of(text, where)


def _error_of(text: str, where: Location | None) -> PenstockError:
    """Give the error that says what Spark's words mean."""
    if ours := _OURS.search(text):
        said, hint = ours[2].strip(), _HINTS.get(ours[1], "")
        if ours[1] == "history-changed-underneath":
            return errors.ConcurrentWriterError(
                "history-changed-underneath", said, where=where, hint=hint
            )
        return errors.DataError(ours[1], said, where=where, hint=hint)
    if _CONFLICT.search(text):
        return errors.ConcurrentWriterError(
            "concurrent-writer",
            "another writer committed to the table at the same time",
            where=where,
            hint="run again; nothing of this step was written",
        )
    if _CANCELLED.search(text):
        return errors.interruption(where)
    for name, code in _BY_DELTA.items():
        if (start := text.find(f"[{name}")) >= 0:
            return errors.DataError(code, _sentence(text[start:]), where=where, hint=_HINTS[code])
    if (found := _of_tables(text)) is not None:
        return errors.TableError(found[0], found[1], where=where, hint=found[2])
    if "FAILED_READ_FILE" in text or "DELTA_TRUNCATED_TRANSACTION_LOG" in text:
        return errors.TableError("table-unreadable", _sentence(text), where=where)
    line = _CONTEXT_LINE.search(text) or _PARSE_LINE.search(text)
    place = Location(where.path, int(line[1])) if where and line else where
    return errors.QueryError(condition(text) or "spark-error", _sentence(text), where=place)


def _of_tables(text: str) -> tuple[str, str, str] | None:
    """Give code, sentence and hint of what Delta cannot do with a table as it is."""
    if gone := _FILES_GONE.search(text):
        sentence = f"files of version {gone[1]} are no longer there, so it cannot be restored"
        return "rollback-vacuumed", sentence, "run the model instead"
    if "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE" in text:
        sentence = "Delta cannot turn a table that was ever clustered into a partitioned one"
        return "clustered-table", sentence, "set layout: clustered, or move the table's folder away"
    return None


def condition(text: str) -> str:
    """Give Spark's own name of an error as a code of ours.

    >>> condition("[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column …")
    'spark-unresolved-column'
    """
    found = _CONDITION.search(text)
    return "spark-" + found[1].split(".")[0].lower().replace("_", "-") if found else ""


def _sentence(text: str) -> str:
    """Give the first sentence of Spark's message, without its condition, at most 400 characters."""
    raised = _RAISED.match(text.strip())
    message = _CONDITION.sub("", text.strip()[raised.end() if raised else 0 :], count=1).strip()
    first = re.split(r"(?<=[.!?])\s|\n|; line \d|SQLSTATE", message, maxsplit=1)[0]
    return first.strip()[:400] or "Spark gave no message"


def _texts(error: BaseException) -> Iterator[str]:
    """Yield the messages of an error and of what caused it inside the JVM, outermost first."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None:
        yield str(error)
        return
    yield str(error).split("\n\tat ")[0]
    for _ in range(10):
        yield str(java.toString())
        java = java.getCause()
        if java is None:
            return
