"""The engine on real Spark: one application, one session per step."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from penstock.core.errors import PenstockError, PythonModelError, UsageError, interruption
from penstock.core.findings import Location
from penstock.core.ports.engine import ExportForm, FrameReaders, QueryResult
from penstock.core.ports.ports import Fault
from penstock.core.statement import EXACT_JSON
from penstock.core.steps.inputs import Relation
from penstock.engine.connectors import require_log_store, require_safe_store, session_settings
from penstock.engine.function_windows import RUNS
from penstock.engine.functions import SharedFrames
from penstock.engine.java import require_java, spark_versions
from penstock.engine.jvm import JVM, silence_py4j
from penstock.engine.launch import ALWAYS, QUERY_LOGGERS, SUBSTITUTION, LaunchSettings, launch
from penstock.engine.reading import bad_value, read
from penstock.engine.session import Signature, SparkStepSession
from penstock.engine.spark_errors import explained, explaining
from penstock.engine.warm import PER_CONTEXT, WarmPlace, keep, warm_place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as DataFrame  # noqa: PLC0414  # app names it
    from pyspark.sql import Row
    from pyspark.sql import SparkSession as SparkSession  # noqa: PLC0414  # app names it
    from pyspark.sql.types import StructType


class ProcessSpark:
    """The one Spark of a process, shared by engines; ours ends with its last user."""

    def __init__(self) -> None:
        """Start with no Spark."""
        self._lock = threading.Lock()
        self._launched: SparkSession | None = None
        self._place: WarmPlace | None = None
        self._users = 0

    def take(self, settings: LaunchSettings, environ: Mapping[str, str]) -> SparkSession:
        """Return the Spark of this process, started if needed; call `give_back` for each."""
        with self._lock:
            if JVM.has_ended():
                JVM.forget()
                self._launched = None
            spark = running()
            if spark is None:
                self._place = warm_place(settings.whole_spark, settings.root, settings.target)
                spark = self._launched = launch(settings, environ, self._place)
            self._users += 1
            return spark

    def give_back(self) -> None:
        """Stop the Spark that `take` started once it has no more users."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._launched is not None:
                JVM.let_go(partial(_stop, self._launched))
                if self._place is not None and JVM.is_trusted and not JVM.has_ended():
                    keep(self._place)
                if JVM.has_ended():
                    JVM.forget()
                self._launched = None


def _stop(spark: SparkSession) -> None:
    """Stop a session, without PySpark's warning if its JVM is ending."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unable to cleanly shutdown", RuntimeWarning)
        spark.stop()


def running() -> SparkSession | None:
    """Return the session of the Spark in this process; None if there is none."""
    if sys.modules.get("pyspark") is None:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkContext._active_spark_context  # noqa: SLF001  # has no public name
    return SparkSession.builder.getOrCreate() if active else None


def require_delta(spark: SparkSession, environ: Mapping[str, str]) -> None:
    """Raise `session-without-delta` if a foreign session does not support Delta tables.

    Databricks has Delta built in. Another catalog than Delta's may support its tables too. Raises
    `spark-connect` for a session of Spark Connect.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise PythonModelError(
            "spark-connect",
            "the session is one of Spark Connect, which has no JVM in this process",
            hint="pass a session that runs its own driver, as spark-submit and notebook jobs do",
        )
    asked = {key: value for key, value in ALWAYS.items() if "delta" in value.lower()}
    given = {key: spark.conf.get(key, "") or "" for key in asked}
    without = {"spark.sql.extensions": "delta" not in given["spark.sql.extensions"].lower()}
    missing = [key for key in asked if without.get(key, given[key] in ("", "builtin"))]
    if missing and "DATABRICKS_RUNTIME_VERSION" not in environ:
        raise PythonModelError(
            "session-without-delta",
            f"the Spark session has no Delta Lake: it lacks {' and '.join(missing)}",
            hint="build it with " + "".join(f".config({key!r}, {asked[key]!r})" for key in missing),
        )


def _new_session(root: SparkSession, settings: LaunchSettings) -> SparkSession:
    spark = root.newSession()
    # a session that was handed in has others
    asked = {key: ALWAYS[key] for key in (_TIME_ZONE, SUBSTITUTION)}
    asked |= session_settings(settings.storage or {}, settings.spark.conf)
    for key, value in asked.items():
        spark.conf.set(key, value)
    # With it a plain Python UDF over a Delta table waits for ever (Spark 4.2.0).
    spark.conf.set("spark.sql.execution.arrow.pythonUDF.columnarInput.enabled", "false")
    return spark


def _write_csv(frame: DataFrame, file: BinaryIO) -> int:
    def cell(text: str | None) -> str:
        if text is None:
            return ""
        return (
            text
            if text and not _SPECIAL.search(text)
            else f'"{text.replace(chr(34), 2 * chr(34))}"'
        )

    def written(cells: Iterable[str | None]) -> bytes:
        return f"{','.join(map(cell, cells))}\n".encode()

    with explaining(None):
        kinds = [field.dataType.typeName() for field in frame.schema.fields]
        names = [f"c{number}" for number in range(len(kinds))]  # they may be there twice
        cells = map(str.format, (_CELLS.get(kind, "CAST({} AS STRING)") for kind in kinds), names)
        texts = frame.toDF(*names).selectExpr(*cells)
    file.write(written(frame.columns))
    return sum(1 for row in _rows(texts) if file.write(written(row)))


def _write_json(frame: DataFrame, file: BinaryIO) -> int:
    with explaining(None):
        texts = frame.selectExpr(f"to_json(struct(*), {EXACT_JSON})")
    count = 0
    for count, (text,) in enumerate(_rows(texts), start=1):
        file.write(f"{',' if count > 1 else '['}\n{text}".encode())
    file.write(b"\n]\n" if count else b"[]\n")
    return count


def _write_parquet(frame: DataFrame, file: BinaryIO) -> int:
    from pyarrow import ArrowException, parquet

    with explaining(None):
        table = frame.to(_nullable(frame.schema)).toArrow()
    try:
        parquet.write_table(table, file)
    except ArrowException as error:  # a type that Parquet does not have
        raise explained(error) from error
    return int(table.num_rows)


def _nullable(schema: StructType) -> StructType:
    """Allow NULL for every value: Arrow refuses a NULL struct with a non-null field."""
    from pyspark.sql.types import StructType

    text = re.sub(
        '("(?:nullable|containsNull|valueContainsNull)"):false', r"\1:true", schema.json()
    )
    return StructType.fromJson(json.loads(text))


def _rows(frame: DataFrame) -> Iterator[Row]:
    """Yield rows one by one; errors of the receiver are not treated as errors of Spark."""
    with explaining(None):
        yield from frame.toLocalIterator()


SPARK = ProcessSpark()
_TIME_ZONE = "spark.sql.session.timeZone"
_WRITERS = {
    ExportForm.CSV: _write_csv,
    ExportForm.JSON: _write_json,
    ExportForm.PARQUET: _write_parquet,
}
_SPECIAL = re.compile('[",\r\n]')
_CELLS = {
    **dict.fromkeys(("array", "map", "struct", "variant"), f"to_json({{}}, {EXACT_JSON})"),
    "binary": "base64({})",
}


class SparkEngine:
    """The `Engine` of real Spark; the JVM starts with the first session that is opened."""

    def __init__(
        self,
        settings: LaunchSettings,
        environ: Mapping[str, str],
        signature: Signature,
        fault: Fault,
        spark: SparkSession | None = None,
    ) -> None:
        """Store how to start; a session that is passed in, or running already, is never stopped."""
        self._settings = settings
        self._environ = environ
        self._signature = signature
        self._fault = fault
        self._root = spark
        self._taken = False
        self._knows_delta = False
        self._frames: SharedFrames | None = None
        self._starting = threading.Lock()
        self._open: list[SparkStepSession] = []
        self._tag = f"penstock-{id(self)}"
        self._cancelled = threading.Event()

    def elsewhere(self, warehouse: str) -> SparkEngine:
        """Return an engine for small tables; if it starts Spark, it uses another warehouse."""
        spark = replace(self._settings.spark, conf={**PER_CONTEXT, **self._settings.spark.conf})
        settings = replace(self._settings, warehouse=warehouse, spark=spark, written=())
        return SparkEngine(settings, self._environ, self._signature, self._fault, self._root)

    def signing(self, signature: Signature) -> SparkEngine:
        """Return an engine with another signature on the same Spark; both cancel together."""
        started = self._started()
        twin = SparkEngine(self._settings, self._environ, signature, self._fault, started)
        twin._open, twin._tag, twin._cancelled = self._open, self._tag, self._cancelled
        return twin

    def require(self, *, writes: bool = False) -> None:
        """See `Engine.require`."""
        for uri in self._settings.written if writes else ():
            require_safe_store(uri, self._settings.storage or {})
        if self._root is None:
            require_java(self._environ)
            spark_versions()
        else:
            require_delta(self._root, self._environ)

    @contextmanager
    def session(self, model: str, where: Location | None = None) -> Iterator[SparkStepSession]:
        """See `Engine.session`."""
        root = None if self._cancelled.is_set() else self._started()
        if root is None or self._cancelled.is_set():  # while Spark was starting
            raise interruption(where)
        with explaining(where, interrupted=self._cancelled.is_set):
            root.sparkContext.addJobTag(self._tag)
            root.sparkContext.setJobDescription(model)
            spark = _new_session(root, self._settings)
        frames = self._frames
        home = self._settings.root
        session = SparkStepSession(spark, where, self._signature, self._fault, frames, home)
        self._open.append(session)
        try:
            yield session
        finally:
            self._open.remove(session)
            JVM.let_go(session.close)
            if frames is not None:
                JVM.let_go(partial(frames.release, model))

    @contextmanager
    def sharing(self, frames: Mapping[str, FrameReaders]) -> Iterator[None]:
        """See `Engine.sharing`."""
        self._frames = shared = SharedFrames(frames)
        RUNS.add(shared)
        try:
            yield
        finally:
            RUNS.discard(shared)
            self._frames = None
            JVM.let_go(shared.close)

    def frame(self, relations: Sequence[Relation], sql: str) -> DataFrame:
        """See `Engine.frame`."""
        root = self._started()
        with explaining(None):
            spark = _new_session(root, self._settings)
            for relation in relations:
                read(spark, relation).createOrReplaceTempView(relation.view)
            return spark.sql(sql)

    def query(self, relations: Sequence[Relation], sql: str, limit: int) -> QueryResult:
        """See `Engine.query`."""
        frame = self.frame(relations, sql)
        cause = partial(bad_value, frame.sparkSession, relations, where=None)
        with explaining(None, cause, self._settings.root):
            places = [f"c{number}" for number in range(len(frame.columns))]
            texts = frame.toDF(*places).selectExpr(*[f"CAST(`{p}` AS STRING)" for p in places])
            rows = tuple(tuple(row) for row in texts.limit(limit + 1).collect())
        types = tuple(kind for _, kind in frame.dtypes)
        return QueryResult(tuple(frame.columns), rows[:limit], len(rows) > limit, types)

    def export(
        self,
        relations: Sequence[Relation],
        sql: str,
        limit: int | None,
        form: ExportForm,
        file: BinaryIO,
    ) -> int:
        """See `Engine.export`."""
        frame = self.frame(relations, sql)
        twice = [n for n, many in Counter(map(str.lower, frame.columns)).items() if many > 1]
        if twice and form is not ExportForm.CSV:
            sentence = f"two columns are called {twice[0]!r}, which {form} cannot hold"
            raise UsageError("duplicate-column", sentence, hint="name one of them with AS")
        with explaining(None):
            rows = frame if limit is None else frame.limit(limit)
        return _WRITERS[form](rows, file)

    def cancel(self) -> None:
        """See `Engine.cancel`."""
        JVM.is_trusted = False  # what is cancelled may go on in it
        self._cancelled.set()
        for session in tuple(self._open):
            session.interrupted = True
        if self._root is not None:
            threading.Thread(target=self._keep_cancelling, daemon=True).start()

    def stop(self) -> None:
        """See `Engine.stop`."""
        is_well = isinstance(sys.exception(), PenstockError | None) and not self._open
        JVM.is_trusted = JVM.is_trusted and is_well
        if self._taken:
            SPARK.give_back()
            self._root, self._taken = None, False

    def _keep_cancelling(self) -> None:
        """Cancel until no session is open: a job may start just after a cancellation."""
        from py4j.protocol import Py4JJavaError

        while self._open and self._root is not None and not JVM.has_ended():
            try:
                JVM.let_go(partial(self._root.sparkContext.cancelJobsWithTag, self._tag))
            except Py4JJavaError:  # a second Ctrl-C stopped the context, and its jobs with it
                return
            time.sleep(0.3)

    def _started(self) -> SparkSession:
        with self._starting:
            if self._root is None:
                with self._settings.waiting("starting Spark"):
                    self._root = SPARK.take(self._settings, self._environ)
                self._taken = True
            if not self._knows_delta:
                require_delta(self._root, self._environ)
                if self._settings.written:
                    confs = dict(self._root.sparkContext.getConf().getAll())
                    require_log_store(confs, self._environ)
                self._knows_delta = True
            # PySpark repeats every error with its stack on stderr; ours name the model's line.
            for name in QUERY_LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
            silence_py4j()
            return self._root
