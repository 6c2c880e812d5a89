"""Convert exceptions of Spark and Delta to errors that name the model's file and line."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.core import errors
from penstock.core.errors import PenstockError
from penstock.core.findings import Location
from penstock.core.masking import mask
from penstock.engine.jvm import JVM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    Cause: TypeAlias = Callable[[str], PenstockError | None]

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]\s*")
_LONGEST = 400
_CONTEXT_LINE = re.compile(r"== SQL[^=]*\(line (\d+), position \d+\) ==")
_PARSE_LINE = re.compile(r"line (\d+),? pos(?:ition)? \d+")
_CANCELLED = re.compile(r"SPARK_JOB_CANCELLED|\bJob \d+ cancelled\b")
_RAISED = re.compile(  # what Py4J and Java put before a message
    r"\A(?:An error occurred while calling \S+\.\s*)?(?::\s*)?(?:[a-z]\w*\.)+[A-Z]\w*: "
)
_CAUSED = re.compile(r"\nCaused by: |\(TID \d+\)[^\n]*?: (?=(?:[a-z]\w*\.)+[A-Z])")
_TRACEBACK = r"Traceback \(most recent call last\):\n"
_PYTHON = re.compile(
    rf"\A(?:\[[A-Z_.]+\]\s*)?(?:An exception was thrown from[^\n]*?)?\s*{_TRACEBACK}"
)
_CHAINED = re.compile(rf"\n\n(?:The above exception|During handling)[^\n]*\n\n{_TRACEBACK}")
_FRAME = re.compile(r'  File "(.+)", line (\d+), in (.+)')
_LIBRARY = re.compile(r"\b(?:site|dist)-packages/|\bpyspark\.zip/|/lib/python3[\d.]*/")
_CODE = re.compile(r"\.py\Z|\A<(?!string>|frozen )")
_PENSTOCK = f"{Path(__file__).parents[1].as_posix()}/"
_ONLY_THAT_IT_FAILED = {"TASK_WRITE_FAILED", "FAILED_EXECUTE_UDF", "WRITING_JOB_ABORTED"}
_USER_RAISED = "[USER_RAISED_EXCEPTION]"
_RAISER = "correct the rows, or the condition of raise_error or assert_true in the SQL"
_TRY = re.compile(r"\bUse (?:the SQL function )?[`'](\w+)(?:\(\))?[`'][^.\n]* return NULL instead")
_SIMILAR = re.compile(r"Did you mean one of the following\? \[([^\]\n]+)\]")
_OURS = re.compile(r"penstock:([a-z-]+): ([^\n]*?)(?:\s*;;|\s*SQLSTATE|$)", re.MULTILINE)
_HINTS = {
    "history-changed-underneath": "run again; if it recurs: penstock snapshot verify MODEL",
    "row-outside-partition": "filter the query by @partition_date",
    "empty-partition-value": "select NULL or another text in its place",
    "rows-outside-window": "say grain= if the function aggregates, or window_on= for the inputs",
    "null-in-required-column": "leave such rows out, or make the column NULLABLE",
}
_BY_DELTA = {  # what Delta finds by itself where our own guards did not look
    "DELTA_NOT_NULL_CONSTRAINT_VIOLATED": "null-in-required-column",
    "DELTA_REPLACE_WHERE_MISMATCH": "row-outside-partition",
}
_UNREADABLE = ("FAILED_READ_FILE", "DELTA_TRUNCATED_TRANSACTION_LOG")
_FILES_GONE = re.compile(r"Not all files from version (\d+) are available")
_NO_CONNECTOR = re.compile(r"S3AFileSystem not found|No FileSystem for scheme \"?s3")
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
    root: str = "",
    interrupted: Callable[[], bool] = bool,
) -> Iterator[None]:
    """Convert Spark's exceptions with `explained`; the original is the cause.

    `cause` is called with the complete message, if there is one. If the run was `interrupted`, any
    exception of Spark is a consequence of that.
    """
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        found = explained(error, where, root)
        if interrupted() and not isinstance(found, errors.SparkDiedError):
            found = errors.interruption(where)
        if not isinstance(
            found, errors.SparkDiedError | errors.InterruptedRunError | errors.ModelFailedError
        ):
            found = cause("\n".join(_texts(error))) or found
        raise found from error


def explained(error: BaseException, where: Location | None = None, root: str = "") -> PenstockError:
    """Return our error for one of Spark's; `where` is the model's file, `root` the project's.

    Failures inside a write or a job are reported by their innermost cause.
    """
    if isinstance(error, PenstockError):
        return error
    if JVM.is_lost(error):
        return JVM.lost()
    try:
        texts = [mask(each) for each in _texts(error)]  # before anything of it is cut
    except Exception as unreadable:  # the JVM is asked for its messages, and may die over it
        if not JVM.is_lost(unreadable):
            raise
        return JVM.lost()
    if _STOPPED.search("\n".join(texts)) and JVM.has_ended(soon=True):  # it was told to end
        return JVM.lost()
    reasons = [reason for text in texts for reason in _reasons(text)]
    for reason in reversed(reasons):
        if raised := _PYTHON.search(reason):
            return _of_function(reason[raised.end() :], where, root)
    return _error_of("\n".join(texts), _innermost(reasons), where)


def _reasons(text: str) -> Iterator[str]:
    """Yield the reasons in a message, outermost first: a job's message has the stacks of causes."""
    for part in _CAUSED.split(text):
        yield _RAISED.sub("", part.strip(), count=1).split("\n\tat ")[0].strip()


def _innermost(reasons: Sequence[str]) -> str:
    """Return the innermost message with an informative condition, else the innermost message."""
    for reason in reversed(reasons):
        named = _CONDITION.match(reason)
        if named and named[1].split(".")[0] not in _ONLY_THAT_IT_FAILED:
            return reason
    return next((each for each in reversed(reasons) if each), "")


def _error_of(text: str, reason: str, where: Location | None) -> PenstockError:
    """Return the error for a complete message and the reason within it."""
    if (ours := _of_guard(text, where)) is not None:
        return ours
    if reason.startswith(_USER_RAISED):
        said = _CONDITION.sub("", reason, count=1).partition(" SQLSTATE: ")[0].strip()
        shown = " ".join(said.split())[:_LONGEST] or "raise_error was called"
        return errors.QueryError(condition(reason), shown, where=where, hint=_RAISER)
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
    for name in _UNREADABLE:
        if (start := text.find(f"[{name}")) >= 0:
            return errors.TableError("table-unreadable", _sentence(text[start:]), where=where)
    line = _CONTEXT_LINE.search(reason) or _PARSE_LINE.search(reason)
    # in other files than those of SQL, lines of a query are not lines of the file
    is_sql = where is not None and where.path.endswith(".sql")
    place = Location(where.path, int(line[1])) if where and line and is_sql else where
    code = condition(reason)
    hint = _advice(reason) if code else ""
    return errors.QueryError(code or "spark-error", _sentence(reason), where=place, hint=hint)


def _of_guard(text: str, where: Location | None) -> PenstockError | None:
    """Return the error that our own SQL raised, from its code and sentence."""
    ours = _OURS.search(text)
    if ours is None:
        return None
    said, hint = ours[2].strip(), _HINTS.get(ours[1], "")
    if ours[1] == "history-changed-underneath":
        return errors.ConcurrentWriterError(
            "history-changed-underneath", said, where=where, hint=hint
        )
    return errors.DataError(ours[1], said, where=where, hint=hint)


def _of_function(message: str, where: Location | None, root: str) -> errors.ModelFailedError:
    """Return the error for a Python worker's traceback: last line, and line of the project."""
    lines = _CHAINED.split(message)[-1].rstrip().splitlines()
    at = next((n for n, line in enumerate(lines) if line and not line.startswith("  ")), len(lines))
    frames = [frame for line in lines[:at] if (frame := _FRAME.fullmatch(line))]
    last = lines[at].partition(" SQLSTATE: ")[0].strip() if at < len(lines) else "an error"
    found = innermost([(frame[1], int(frame[2])) for frame in frames], where, root)
    name = frames[found[0]][3] if found else ""
    sentence = f"{name if name.isidentifier() else 'a function'} raised {last}"[:_LONGEST]
    return errors.ModelFailedError("model-failed", sentence, where=found[1] if found else where)


def innermost(
    frames: Sequence[tuple[str, int]], where: Location | None, root: str = ""
) -> tuple[int, Location] | None:
    """Return number and place of the innermost frame in the project's own code.

    Its file is below the root or, for notebooks and scripts elsewhere, in no library.
    """
    paths = [file.replace("\\", "/") for file, _ in frames]
    ends = f"/{where.path}" if where else ""
    roots = [path.removesuffix(ends) for path in paths if ends and path.endswith(ends)]
    before = f"{root or (roots or [''])[0]}/"
    for number, path in reversed([*enumerate(paths)]):
        inside = path.removeprefix(before) if before != "/" else path
        is_code = inside != path or _CODE.search(path)
        if is_code and not _LIBRARY.search(inside) and not path.startswith(_PENSTOCK):
            named = where is not None and inside == path and path.endswith(ends)
            shown = where.path if where and named else inside
            return number, Location(shown, frames[number][1])
    return None


def _of_tables(text: str) -> tuple[str, str, str] | None:
    """Return code, sentence and hint if Delta cannot process a table in its current state."""
    if gone := _FILES_GONE.search(text):
        sentence = f"files of version {gone[1]} are no longer there, so it cannot be restored"
        return "rollback-vacuumed", sentence, "run the model instead"
    if "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE" in text:
        sentence = "Delta cannot turn a table that was ever clustered into a partitioned one"
        return "clustered-table", sentence, "set layout: clustered, or move the table's folder away"
    if _NO_CONNECTOR.search(text):
        fix = "penstock doctor --fix fetches it; or set spark.jars to one of your own"
        return "connector-missing", "this Spark has no connector for s3://", fix
    return None


def condition(text: str) -> str:
    """Return Spark's error condition as a penstock code.

    >>> condition("[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column …")
    'spark-unresolved-column'
    """
    found = _CONDITION.search(text)
    return "spark-" + found[1].split(".")[0].lower().replace("_", "-") if found else ""


def _sentence(text: str) -> str:
    """Return the first sentence of Spark's message, at most 400 characters."""
    message = _CONDITION.sub("", _RAISED.sub("", text.strip(), count=1), count=1).strip()
    first = re.split(r"(?<=[.!?])\s|\n|; line \d|SQLSTATE", message, maxsplit=1)[0]
    return first.strip()[:_LONGEST] or "Spark gave no message"


def _advice(reason: str) -> str:
    """Return Spark's advice in one line, otherwise where to look."""
    if similar := _SIMILAR.search(reason):
        return f"did you mean one of {similar[1]}?"
    if instead := _TRY.search(reason):
        return f"correct the rows, or write {instead[1]} to get NULL instead"
    return "correct the query; penstock show MODEL prints its SQL"


def _texts(error: BaseException) -> Iterator[str]:
    """Yield the messages of an error and of its causes inside the JVM, outermost first."""
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
