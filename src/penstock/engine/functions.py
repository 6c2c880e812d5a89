"""Call functions of a project: frames in, one frame out, and errors about that frame."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from penstock.core.errors import (
    InterruptedRunError,
    ModelFailedError,
    PenstockError,
    PythonModelError,
    SparkDiedError,
)
from penstock.core.masking import mask
from penstock.core.ports.engine import FrameReaders
from penstock.core.steps.inputs import FunctionRead, Read
from penstock.core.steps.window import Window
from penstock.engine.function_windows import ACTIVE, CALL, FunctionCall, FunctionWindow, add_methods
from penstock.engine.local_frames import UnfitFrameError, local_kind, spark_frame
from penstock.engine.spark_errors import explained, innermost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAMES_ONLY = ("SubqueryAlias", "View")


class SharedFrames:
    """The frames of one run: the first reader builds a frame, the others reuse it.

    A frame belongs to the session that built it, and a commit of its rows would run there. So other
    sessions read it through a global temporary view.
    """

    def __init__(self, readers: Mapping[str, FrameReaders]) -> None:
        """Store which models read which frame."""
        self._readers = {name: set(each.models) for name, each in readers.items()}
        self._keeps = {name for name, each in readers.items() if each.keeps}
        self._cuts = {name: each.cut for name, each in readers.items() if each.keeps}
        self._made: dict[str, tuple[tuple[Read, ...], DataFrame]] = {}
        self._locks: dict[str, Lock] = {name: Lock() for name in readers}

    def frame(self, spark: SparkSession, read: FunctionRead) -> DataFrame:
        """Return a frame; call its function unless the same inputs were read before."""
        cut = self._cuts.get(read.model)
        if read.model not in self._locks or (cut and not _is_inside(read, cut)):
            return call(spark, read)
        with self._locks[read.model]:
            made = self._made.get(read.model)
            if made is not None and made[0] == read.pinned:
                return handed_over(made[1], spark)
            frame, asked = _called(spark, read)
            if made is not None or asked:  # inputs moved on, or each reader has its own window
                return frame
            if read.model in self._keeps:
                known = {name.lower() for name in frame.columns}
                cuts = cut is not None and cut.column.lower() in known
                frame = (frame.where(cut.condition) if cut and cuts else frame).persist()
            self._made[read.model] = (read.pinned, frame)
            return frame

    def release(self, model: str) -> None:
        """Release the frames that only this model still had to read."""
        for name, models in self._readers.items():
            models.discard(model)
            if not models:
                self._release(name)

    def close(self) -> None:
        """Release all frames."""
        for name in [*self._made]:
            self._release(name)

    def _release(self, name: str) -> None:
        made = self._made.pop(name, None)
        if made is not None and name in self._keeps:
            made[1].unpersist()


def _is_inside(read: FunctionRead, cut: Window) -> bool:
    """Return whether a reader's window is inside the kept rows."""
    own = read.windows.lowest(read.model) if read.windows else None
    return bool(own and own.lower and cut.lower and own.lower.value >= cut.lower.value)


def call(spark: SparkSession, read: FunctionRead) -> DataFrame:
    """Call a function with the frames of its inputs, without running a query.

    Raises `ModelFailedError` for an exception of the function, and `PythonModelError` for a result
    that no table can hold.
    """
    frame, _ = _called(spark, read)
    return frame


def _called(spark: SparkSession, read: FunctionRead) -> tuple[DataFrame, bool]:
    """Call a function; return its frame, and whether it used the window of its reader."""
    add_methods()
    given: dict[str, object] = {name: view_frame(spark, view) for name, view in read.views.items()}
    given |= read.function.values
    if "spark" in read.function.reserved:
        given["spark"] = spark
    now = FunctionCall(read)
    if "window" in read.function.reserved:
        now.uses_window = True
        given["window"] = FunctionWindow.of_step(read.windows)
    token = CALL.set(now)
    try:
        with active(spark):
            frame = read.function.call(**given)
    except PenstockError:
        raise
    except Exception as error:
        raise _failed(read, error) from error
    finally:
        CALL.reset(token)
    found = _sound(spark, read, frame)
    if found.sparkSession is not spark:  # a commit would be made by the session of the frame
        return handed_over(found, spark), now.uses_window
    return found, now.uses_window


def handed_over(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """Return a frame of another session as a frame of this session."""
    view = f"penstock_{uuid4().hex}"
    frame.createOrReplaceGlobalTempView(view)
    try:
        return view_frame(spark, f"global_temp.{view}")
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(view)


def view_frame(spark: SparkSession, view: str) -> DataFrame:
    """Return the rows of a view, with the metadata columns of files, which a view hides."""
    from pyspark.sql.classic.dataframe import DataFrame

    frame = spark.table(view)
    if not isinstance(frame, DataFrame):  # of Spark Connect
        return frame
    java: Any = spark._jvm  # noqa: SLF001  PySpark has no word for plans
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    while plan.getClass().getSimpleName() in _NAMES_ONLY:
        plan = plan.child()
    if plan.metadataOutput().isEmpty():
        return frame
    inner = java.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)  # noqa: SLF001
    return DataFrame(inner, spark)


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of this thread, in Python and in the JVM."""
    token = ACTIVE.set(spark)
    kind: Any = getattr(spark, "_jvm", None) and spark._jvm.SparkSession  # type: ignore[union-attr]  # noqa: SLF001
    before = kind.getActiveSession() if kind else None
    if kind:
        kind.setActiveSession(spark._jsparkSession)  # noqa: SLF001
    try:
        yield
    finally:
        ACTIVE.reset(token)
        if before is not None and before.isDefined():
            kind.setActiveSession(before.get())
        elif kind:
            kind.clearActiveSession()


def _failed(read: FunctionRead, error: Exception) -> PenstockError:
    """Return the error at the innermost line outside libraries; for Spark, with its reason."""
    raised = f"{read.model!r} raised {type(error).__name__}"
    frames = [
        (each.filename, each.lineno or 1) for each in traceback.extract_tb(error.__traceback__)
    ]
    found = innermost(frames, read.where)
    where = found[1] if found else read.where
    if not type(error).__module__.startswith(("pyspark.", "py4j.", "delta.")):
        sentence = mask(f"{raised}: {str(error).strip()}").splitlines()[0][:300]
        return ModelFailedError("model-failed", sentence, where=where)
    reason = explained(error, where)
    if isinstance(reason, SparkDiedError | InterruptedRunError | ModelFailedError):
        return reason
    return ModelFailedError("model-failed", f"{raised}: {reason.sentence}", where=where)


def _sound(spark: SparkSession, read: FunctionRead, frame: object) -> DataFrame:
    from pyspark.sql import DataFrame

    def refused(code: str, sentence: str, hint: str) -> PythonModelError:
        return PythonModelError(code, f"{read.model!r} {sentence}", where=read.where, hint=hint)

    if local_kind(frame):
        try:
            frame = spark_frame(spark, frame, read.function.declared, read.model)
        except UnfitFrameError as error:
            hint = "convert its columns, or declare their types with schema="
            raise refused("not-a-frame", str(error), hint) from error
    if not isinstance(frame, DataFrame) or _is_of_connect(frame):
        sentence, hint = _instead_of_frame(frame)
        raise refused("not-a-frame", sentence, hint)
    if frame.isStreaming:
        raise refused("streaming-frame", "returned a streaming frame", "read it as a batch")
    seen: set[str] = set()
    for each in frame.schema.fields:
        if each.name.lower() in seen:
            sentence = f"returned column {each.name!r} twice"
            raise refused("duplicate-column", sentence, "drop or rename one of them")
        seen.add(each.name.lower())
    return frame


def _is_of_connect(frame: object) -> bool:
    return type(frame).__module__.startswith("pyspark.sql.connect")


def _instead_of_frame(value: object) -> tuple[str, str]:
    """Return what a function returned instead of a frame, and a hint."""
    kind = type(value)
    match kind.__module__.partition(".")[0], kind.__name__:
        case "pandas" | "polars", "Series":
            return f"returned a Series of {kind.__module__.partition('.')[0]}", "to_frame()"
        case "pyspark", "DataFrame":
            hint = "build it with the parameter spark, or with an input"
            return "returned a DataFrame of Spark Connect", hint
        case "pyspark", "Column" | "GroupedData":
            words = "a column" if kind.__name__ == "Column" else "groups without an aggregate"
            return f"returned {words}", "return a DataFrame: frame.select(…), or .agg(…)"
        case "penstock", _ if name := getattr(value, "name", ""):
            return f"returned the function {name!r}, not its rows", f"add the parameter {name}"
        case _ if value is None:
            return "returned None", "return a DataFrame"
        case _:
            return f"returned a value of type {kind.__name__}", "return a DataFrame"
