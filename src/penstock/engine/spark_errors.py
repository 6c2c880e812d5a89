"""Turning what Spark and Delta raise into errors that name the model's file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.core.errors import (
    ConcurrentWriterError,
    DataError,
    InterruptedRunError,
    PenstockError,
    QueryError,
    TableError,
)
from penstock.core.findings import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]\s*")
_CONTEXT_LINE = re.compile(r"== SQL[^=]*\(line (\d+), position \d+\) ==")
_PARSE_LINE = re.compile(r"line (\d+),? pos(?:ition)? \d+")
_CANCELLED = re.compile(r"SPARK_JOB_CANCELLED|\bJob \d+ cancelled\b")
_RAISED = re.compile(  # what Py4J and Java put before a message
    r"(?:An error occurred while calling \S+\.\s*)?(?::\s*)?(?:[a-z]\w*\.)+[A-Z]\w*: "
)
_OURS = re.compile(r"penstock:([a-z-]+): ([^\n]*?)(?:\s*;;|\s*SQLSTATE|$)", re.MULTILINE)
_UNDERNEATH = "history-changed-underneath"
_CONFLICTS = (
    "ConcurrentAppendException",
    "ConcurrentDeleteReadException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "MetadataChangedException",
    "ProtocolChangedException",
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
)


def explained(error: BaseException, where: Location | None = None) -> PenstockError:
    """Give the error of ours that says what a Spark error means to the owner of a model.

    `where` is the model's file; the line is the one Spark reports in the model's SQL.
    """
    text = "\n".join(_texts(error))
    if isinstance(error, PenstockError):
        return error
    if (ours := _OURS.search(text)) and ours[1] == _UNDERNEATH:
        return ConcurrentWriterError(
            "history-changed-underneath",
            ours[2].strip(),
            where=where,
            hint="run again; nothing of this step was written",
        )
    if ours:
        return DataError(ours[1], ours[2].strip(), where=where)
    if any(name in text for name in _CONFLICTS):
        return ConcurrentWriterError(
            "concurrent-writer",
            "another writer committed to the table at the same time",
            where=where,
            hint="run again; nothing of this step was written",
        )
    if _CANCELLED.search(text):
        return InterruptedRunError("interrupted", "the run was interrupted", where=where)
    if "FAILED_READ_FILE" in text or "DELTA_TRUNCATED_TRANSACTION_LOG" in text:
        return TableError("table-unreadable", _sentence(text), where=where)
    return QueryError(condition(text) or "spark-error", _sentence(text), where=_line(where, text))


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


def _line(where: Location | None, text: str) -> Location | None:
    if where is None:
        return None
    found = _CONTEXT_LINE.search(text) or _PARSE_LINE.search(text)
    return Location(where.path, int(found[1])) if found else where


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
