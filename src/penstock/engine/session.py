"""Spark for one step: its own session on the shared context.

Each step thread has a session, because Delta reads the commit token from the session's settings and
two threads in one session mix their tokens (docs/decisions/0003-one-session-per-step.md).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from penstock.core.columns.schema import Schema
from penstock.core.errors import TableError, interruption
from penstock.core.findings import Location
from penstock.core.names import quoted
from penstock.core.ports.ports import Fault
from penstock.core.statement import OBSERVED_ROWS, Commit, Feed, Passing, Row, Stage, StagedRows
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.core.steps.step import Intent
from penstock.core.steps.token import write_token
from penstock.engine.disk.disks import is_local
from penstock.engine.functions import SharedFrames
from penstock.engine.log.delta_log import DeltaLog
from penstock.engine.log.files import bytes_in
from penstock.engine.reading import bad_value, commented, read, replays, schema_of
from penstock.engine.spark_errors import explaining
from penstock.engine.staged_files import CONFS, count_rows, write_files, write_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATIENCE_SECONDS = 5.0


class ObservedWrite:
    """Aggregates over the rows of one frame, computed while they are written."""

    def __init__(self, frame: DataFrame, counts: Mapping[str, str]) -> None:
        """Observe a frame; write its attribute `frame`."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

        columns = [F.expr(sql).alias(name) for name, sql in counts.items()]
        self._observation = Observation(f"penstock-{uuid4()}")
        self.frame = frame.observe(self._observation, *columns)

    def counts(self) -> Row | None:
        """Return the observed values; None if they do not arrive in time or are empty.

        Spark delivers them shortly after the write; after a failed one, the values up to the
        failure.
        """
        future = self._observation._jo.future()  # type: ignore[union-attr]  # noqa: SLF001  # `get` waits for ever
        until = time.monotonic() + _PATIENCE_SECONDS
        while not future.isCompleted():
            if time.monotonic() > until:
                return None
            time.sleep(0.005)
        result = future.value().get()
        # "Nothing" is a row without columns.
        is_seen = result.isSuccess() and result.get().length() > 0
        return self._observation.get if is_seen else None


_NEEDS_MAPPING = re.compile(r"[ ,;{}()\n\t=]")  # Delta has such names only with column mapping


Explaining = Callable[[], AbstractContextManager[None]]


class SparkSideTables:
    """The `SideTables` of real Spark; `in_files` are the views that already read files."""

    def __init__(
        self,
        spark: SparkSession,
        explaining: Explaining,
        fault: Fault,
        run: Callable[[Commit, Mapping[str, str]], None],
    ) -> None:
        """Share a step's session, its error explanations, and its way to run statements."""
        self._run = run
        self._spark = spark
        self._explaining = explaining
        self._fault = fault
        self.in_files: set[str] = set()

    def keep(self, feed: Feed, folder: str) -> StagedRows:
        """See `SideTables.keep`. A commit of this session that has the feed reads the files."""
        with self._explaining(), settings(self._spark, {**CONFS, **feed.confs}):
            frame, observed = watched(self._spark, feed)
            kept = write_files(frame, folder)
            self._fault("during-staging")
            kept.createOrReplaceTempView(feed.view)
            self.in_files.add(feed.view)
            rows = count_rows(folder)
        return StagedRows(rows, agreed(observed, rows))

    def write_table(self, sql: str, uri: str) -> int:
        """See `SideTables.write_table`. An existing table is an error."""
        with self._explaining():
            names = self._spark.sql(sql).columns
            mapped = any(map(_NEEDS_MAPPING.search, names))
            # Nothing is ever deleted from it, and many readers refuse deletion vectors.
            how = "'delta.enableDeletionVectors' = 'false'"
            how += ", 'delta.columnMapping.mode' = 'name'" if mapped else ""
            made = f"CREATE TABLE delta.{quoted(uri)} USING delta TBLPROPERTIES ({how})"
            self._spark.sql(f"{made} AS {sql}")
        return DeltaLog().commits(uri, -1)[-1].metrics.get("numOutputRows", 0)

    def clone(self, uri: str, version: int, to: str) -> str:
        """See `SideTables.clone`."""
        made, whole = f"delta.{quoted(to)}", f"delta.{quoted(uri)}"
        with self._explaining():
            self._spark.sql(f"CREATE TABLE {made} SHALLOW CLONE {whole} VERSION AS OF {version}")
        return made

    def trial(self, statement: Commit) -> None:
        """See `SideTables.trial`."""
        self._run(unwatched(statement), {})

    def added(self, uri: str, version: int, folder: str, view: str) -> Schema:
        """See `SideTables.added`."""
        write_log(uri, version, folder)
        with self._explaining():
            return _viewed(self._spark.read.format("delta").load(folder), view)


def watched(spark: SparkSession, feed: Feed) -> tuple[DataFrame, ObservedWrite | None]:
    """Return the rows of a feed, and their observation if anything is observed."""
    frame = spark.sql(feed.sql)
    observed = ObservedWrite(frame, feed.counts) if feed.counts else None
    return (observed.frame if observed else frame), observed


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Set settings for a block, and restore the previous ones.

    Unsetting a setting would not restore the one that Spark was started with.
    """
    before = {key: spark.conf.get(key, None) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, had in before.items():
            spark.conf.unset(key) if had is None else spark.conf.set(key, had)


def agreed(observed: ObservedWrite | None, rows: int) -> Row | None:
    """Return the observed values if their row count equals the given one."""
    seen = observed.counts() if observed else None
    return seen if seen and seen.get(OBSERVED_ROWS) == rows else None


_TOKEN = "spark.databricks.delta.commitInfo.userMetadata"  # noqa: S105  # the name of a setting
_TXN_APP = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION = "spark.databricks.delta.write.txnVersion"
_HIDES_ROWS = "spark.databricks.delta.merge.deletionVectors.persistent"
_SMALL = 8 << 20
"""Files with fewer bytes are rewritten faster than Delta hides rows in them."""

Signature = Callable[[], tuple[str, str, str]]
"""Returns the signature of commits: penstock's version, the store's id and the project."""


class SparkStepSession:
    """The `StepSession` of real Spark."""

    def __init__(
        self,
        spark: SparkSession,
        where: Location | None,
        signature: Signature,
        fault: Fault,
        frames: SharedFrames | None = None,
        root: str = "",
    ) -> None:
        """Take over a new session; `signature` is called for commits.

        `root` is the folder of the project, whose lines errors name.
        """
        self._frames = frames
        self._bound_query: dict[str, Relation] = {}
        self._spark = spark
        self._where = where
        self._fault = fault
        self._signature = signature
        self.interrupted = False
        self._explaining: Explaining = partial(
            explaining, where, self._cause, root, lambda: self.interrupted
        )
        self.side_tables = SparkSideTables(spark, self._explaining, fault, self._run)
        self._watch: ObservedWrite | None = None
        self._kept: list[DataFrame] = []
        self._cut: list[DataFrame] = []
        self._logs: list[TemporaryDirectory[str]] = []
        self._shared: list[str] = []

    def _cause(self, message: str) -> TableError | None:
        return bad_value(self._spark, self._bound_query.values(), message, where=self._where)

    def bind(self, relations: Sequence[Relation]) -> Mapping[str, Schema]:
        """See `StepSession.bind`."""
        with self._explaining():
            return {each.view: self._read(each) for each in relations}

    def _read(self, relation: Relation) -> Schema:
        """Read a relation once: a function would be called again."""
        if self._bound_query.get(relation.view) == relation:
            return schema_of(self._spark.table(relation.view))
        self._bound_query[relation.view] = relation
        match relation.read:
            case DeltaRead(uri, int() as version, since=int() as since):
                self._logs.append(TemporaryDirectory(prefix="penstock-"))
                write_log(uri, version, self._logs[-1].name, since)
                relation = replace(relation, read=DeltaRead(self._logs[-1].name, 0))
        return _viewed(read(self._spark, relation, self._frames), relation.view)

    def define(
        self, view: str, sql: str, comments: Mapping[str, str] = MappingProxyType({})
    ) -> Schema:
        """See `StepSession.define`."""
        with self._explaining():
            return _viewed(commented(self._spark.sql(sql), comments), view)

    def rows(self, sql: str) -> tuple[Row, ...]:
        """See `StepSession.rows`."""
        with self._explaining():
            return tuple(row.asDict() for row in self._spark.sql(sql).collect())

    def describe(self, sql: str) -> Schema:
        """See `StepSession.describe`."""
        with self._explaining():
            return schema_of(self._spark.sql(sql))

    def replays(self, view: str) -> bool:
        """See `StepSession.replays`."""
        with self._explaining():
            return replays(self._spark.table(view), self._bound_query.values())

    def row(self, sql: str) -> Row:
        """See `StepSession.row`."""
        return self.rows(sql)[0]

    def share(self, view: str) -> str:
        """See `StepSession.share`."""
        name = f"penstock_{uuid4().hex}"
        self._spark.table(view).createGlobalTempView(name)
        self._shared.append(name)
        return f"SELECT * FROM {self._spark.conf.get('spark.sql.globalTempDatabase')}.{name}"

    def sample(self, sql: str) -> tuple[str, ...]:
        """See `StepSession.sample`."""
        with self._explaining():
            return tuple(str(row[0]) for row in self._spark.sql(sql).collect())

    def stage(self, stage: Stage) -> Row:
        """See `StepSession.stage`; measuring the rows is the action that computes them."""
        with self._explaining(), settings(self._spark, stage.confs):
            if stage.passing:
                seen = self._sift(stage, stage.passing)
            else:
                frame = self._spark.sql(stage.sql)
                if stage.is_kept:
                    self._kept.append(frame.persist())
                frame.createOrReplaceTempView(stage.view)
                seen = self.row(stage.look_sql)
        self._fault("during-staging")
        return seen

    def _sift(self, stage: Stage, passing: Passing) -> Row:
        """Count the rows and keep some, in one action, detached from their query.

        So lost rows fail the step instead of being evaluated again.
        """
        from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

        for view, sql in passing.sides.items():
            side = self._spark.sql(sql).observe(view, F.count("*").alias(view))
            side.createOrReplaceTempView(view)
        counts = [F.expr(sql).alias(name) for name, sql in passing.counts.items()]
        frame = self._spark.sql(passing.sql).observe(passing.view, *counts)
        frame.createOrReplaceTempView(passing.view)
        kept = self._spark.sql(stage.sql)
        checked = kept.localCheckpoint(eager=True)
        checked.createOrReplaceTempView(stage.view)
        # An Observation hears nothing of a checkpoint and would wait for ever.
        metrics = _java(kept).queryExecution().observedMetrics()
        self._cut.append(checked)
        found = metrics.apply(passing.view)
        # Of a side that turns out empty Spark leaves the plan out, and what would count it.
        counted = {view: metrics.get(view) for view in passing.sides}
        sides = {view: n.get().get(0) if n.isDefined() else 0 for view, n in counted.items()}
        return {name: found.get(place) for place, name in enumerate(passing.counts)} | sides

    def commit(self, statement: Commit, intent: Intent) -> None:
        """See `StepSession.commit`."""
        version, store, project = self._signature()
        token = write_token(intent, version, store, project, metrics=statement.metrics)
        signed = {_TOKEN: token}
        if statement.once and intent.step_seq:  # what was never begun has no number
            signed[_TXN_APP] = intent.transaction
            signed[_TXN_VERSION] = str(intent.step_seq)
        # Spark tells nothing of what was observed while a table was made from a query.
        makes_table = statement.sql.lstrip().upper().startswith("CREATE")
        most = statement.partitions if is_local(intent.uri) else None
        if most and bytes_in(intent.uri, most) < _SMALL:
            signed[_HIDES_ROWS] = "false"
        self._run(unwatched(statement) if makes_table else statement, signed)

    def observed(self, rows: int) -> Row | None:
        """See `StepSession.observed`."""
        with self._explaining():
            return agreed(self._watch, rows)

    def _run(self, statement: Commit, signed: Mapping[str, str]) -> None:
        if self.interrupted:
            raise interruption()
        self._watch = None
        feed = statement.feed
        confs = {**(feed.confs if feed else {}), **statement.confs, **signed}
        with self._explaining(), settings(self._spark, confs):
            if feed and feed.view not in self.side_tables.in_files:
                fed, self._watch = watched(self._spark, feed)
                fed.createOrReplaceTempView(feed.view)
            frame = self._spark.sql(statement.sql)
            if whole := statement.overwrite:  # rows, columns and partitioning, in one commit
                writer = frame.write.format("delta").option("overwriteSchema", "true")
                writer.mode("overwrite").partitionBy(*whole.partition_by).save(whole.uri)

    def close(self) -> None:
        """Drop what was kept; the session's views end with it."""
        from py4j.protocol import Py4JJavaError

        for name in self._shared:
            self._spark.catalog.dropGlobalTempView(name)
        self._shared.clear()
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()
        blocking = False
        for frame in self._cut:
            with suppress(Py4JJavaError):  # a Spark that is being stopped holds them no longer
                _java(frame).logicalPlan().rdd().unpersist(blocking)
        self._cut.clear()
        for folder in self._logs:
            folder.cleanup()
        self._logs.clear()


def _viewed(frame: DataFrame, view: str) -> Schema:
    frame.createOrReplaceTempView(view)
    return schema_of(frame)


def unwatched(statement: Commit) -> Commit:
    """Return the statement without observations."""
    feed = statement.feed
    return replace(statement, feed=replace(feed, counts={})) if feed else statement


def _java(frame: DataFrame) -> Any:  # noqa: ANN401  Py4J has no types
    """Return the frame's JVM object, for methods that PySpark does not offer."""
    return frame._jdf  # noqa: SLF001  there is no public way
