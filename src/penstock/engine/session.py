"""One step's hands on Spark: a session of its own on the shared context.

A session per step thread, because Delta reads the commit token from the session's settings and
two threads in one session mix their tokens (docs/decisions/0003-one-session-per-step.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.core.errors import InterruptedRunError, TableError
from penstock.core.findings import Location
from penstock.core.names import quoted
from penstock.core.ports import Fault
from penstock.core.relation import CatalogRead, DeltaRead, FilesRead, QueryRead, Relation
from penstock.core.schema import Column, Schema
from penstock.core.statement import Commit, Overwrite, Passing, Row, Stage
from penstock.core.step import Intent
from penstock.core.token import write_token
from penstock.engine.spark_errors import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TOKEN = "spark.databricks.delta.commitInfo.userMetadata"  # noqa: S105  # the name of a setting
_TXN_APP = "spark.databricks.delta.write.txnAppId"
_WAIT = True
_TXN_VERSION = "spark.databricks.delta.write.txnVersion"

Signature = Callable[[], tuple[str, str]]
"""Gives penstock's version and the store's id, with which commits are signed."""


class SparkStepSession:
    """The `StepSession` of real Spark."""

    def __init__(
        self, spark: SparkSession, where: Location | None, signature: Signature, fault: Fault
    ) -> None:
        """Take over a fresh session; `signature` is asked for when something is committed."""
        self._spark = spark
        self._where = where
        self._signature = signature
        self._fault = fault
        self._kept: list[DataFrame] = []
        self._cut: list[DataFrame] = []
        self.interrupted = False

    def bind(self, relations: Sequence[Relation]) -> Mapping[str, Schema]:
        """See `StepSession.bind`."""
        schemas = {}
        for relation in relations:
            try:
                frame = read(self._spark, relation)
                frame.createOrReplaceTempView(relation.view)
                schemas[relation.view] = schema_of(frame)
            except Exception as error:
                raise explained(error, self._where) from error
        return schemas

    def define(self, view: str, sql: str) -> Schema:
        """See `StepSession.define`."""
        try:
            frame = self._spark.sql(sql)
            frame.createOrReplaceTempView(view)
        except Exception as error:
            raise explained(error, self._where) from error
        return schema_of(frame)

    def look(self, sql: str) -> Row:
        """See `StepSession.look`."""
        try:
            return dict(self._spark.sql(sql).collect()[0].asDict())
        except Exception as error:
            raise explained(error, self._where) from error

    def sample(self, sql: str) -> tuple[str, ...]:
        """See `StepSession.sample`."""
        try:
            return tuple(str(row[0]) for row in self._spark.sql(sql).collect())
        except Exception as error:
            raise explained(error, self._where) from error

    def stage(self, stage: Stage) -> Row:
        """See `StepSession.stage`: the look is the action that computes the kept rows."""
        with self._set(stage.confs):
            seen = self._sift(stage, stage.passing) if stage.passing else self._keep(stage)
        self._fault("during-staging")
        return seen

    def _keep(self, stage: Stage) -> Row:
        try:
            frame = self._spark.sql(stage.sql).persist()
            self._kept.append(frame)
            frame.createOrReplaceTempView(stage.view)
        except Exception as error:
            raise explained(error, self._where) from error
        return self.look(stage.look)

    def _sift(self, stage: Stage, passing: Passing) -> Row:
        """Count the rows that pass by and keep some, in one action.

        What is kept is cut off from the query that made it, so that rows which get lost fail the
        step instead of being evaluated anew.
        """
        from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

        counts = [F.expr(sql).alias(name) for name, sql in passing.counts.items()]
        try:
            frame = self._spark.sql(passing.sql).observe(passing.view, *counts)
            frame.createOrReplaceTempView(passing.view)
            kept = self._spark.sql(stage.sql)
            checked = kept.localCheckpoint(eager=True)
            checked.createOrReplaceTempView(stage.view)
            # An Observation is not told about a checkpoint and would wait for ever.
            told = _java(kept).queryExecution().observedMetrics().apply(passing.view)
        except Exception as error:
            raise explained(error, self._where) from error
        self._cut.append(checked)
        return {name: told.get(place) for place, name in enumerate(passing.counts)}

    def commit(self, statement: Commit, intent: Intent) -> None:
        """See `StepSession.commit`."""
        if self.interrupted:
            raise InterruptedRunError("interrupted", "the run was interrupted")
        version, store = self._signature()
        token = write_token(intent, version, store, statement.metrics)
        settings = {_TOKEN: token, **statement.confs}
        if statement.once:
            settings[_TXN_APP] = f"{store}/{intent.model}"
            settings[_TXN_VERSION] = str(intent.step_seq)
        with self._set(settings):
            try:
                frame = self._spark.sql(statement.sql)
                if statement.overwrite is not None:
                    _overwrite(frame, statement.overwrite)
            except Exception as error:
                raise explained(error, self._where) from error

    @contextmanager
    def _set(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Let settings hold for a while; they are none that the session has otherwise."""
        for key, value in settings.items():
            self._spark.conf.set(key, value)
        try:
            yield
        finally:
            for key in settings:
                self._spark.conf.unset(key)

    def close(self) -> None:
        """Drop what was kept; the session's views go with it."""
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()
        for frame in self._cut:
            _java(frame).logicalPlan().rdd().unpersist(not _WAIT)
        self._cut.clear()


def _overwrite(frame: DataFrame, whole: Overwrite) -> None:
    """Replace rows, columns and partitioning of a table in one commit."""
    writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy(*whole.partition_by).save(whole.uri)


def _java(frame: DataFrame) -> Any:  # noqa: ANN401  Py4J has no types
    """Give the frame's side in the JVM, for what PySpark does not pass on."""
    return frame._jdf  # noqa: SLF001  there is no public way


def read(spark: SparkSession, relation: Relation) -> DataFrame:
    """Give the frame of a relation, with its window on it; nothing is run."""
    match relation.read:
        case DeltaRead(uri, version):
            reader = spark.read.format("delta")
            frame = (reader if version is None else reader.option("versionAsOf", version)).load(uri)
        case FilesRead():
            frame = _files(spark, relation.read, str(relation.input))
        case QueryRead(sql):
            frame = spark.sql(sql)
        case CatalogRead(name):
            frame = spark.table(name)
    return frame.where(relation.window.condition) if relation.window else frame


def _files(spark: SparkSession, files: FilesRead, name: str) -> DataFrame:
    declared = ", ".join(f"{quoted(column)} {kind}" for column, kind in files.columns)
    if not files.files:
        if not declared:
            raise TableError(
                "source-empty",
                f"source {name} has no files under {files.root} and declares no columns",
                hint="declare its columns with their types, or deliver a file",
            )
        return spark.createDataFrame([], declared)
    reader = spark.read.format(files.format).options(**files.options)
    if declared and _has_no_header(files):
        reader = reader.schema(declared)
    if files.files != (files.root,):  # a folder: its subfolders may be partitions
        reader = reader.option("basePath", files.root)
    frame = reader.load([*files.files])
    found = {column.lower(): kind for column, kind in frame.dtypes}
    casts = {column: kind for column, kind in files.columns if found.get(column.lower()) != kind}
    for column, kind in casts.items():
        frame = frame.withColumn(column, frame[quoted(column)].cast(kind))
    return frame


def _has_no_header(files: FilesRead) -> bool:
    options = {key.lower(): value.lower() for key, value in files.options.items()}
    return files.format.lower() == "csv" and options.get("header", "false") != "true"


def schema_of(frame: DataFrame) -> Schema:
    """Give a frame's columns in our words."""
    return Schema(
        tuple(
            Column(
                field.name,
                field.dataType.simpleString(),
                field.nullable,
                (field.metadata or {}).get("comment", ""),
            )
            for field in frame.schema.fields
        )
    )


def texts(frame: DataFrame, limit: int) -> tuple[tuple[str | None, ...], ...]:
    """Give at most `limit` rows with every value as Spark prints it."""
    places = [f"c{number}" for number in range(len(frame.columns))]
    printed = frame.toDF(*places).selectExpr(*[f"CAST({quoted(p)} AS STRING)" for p in places])
    return tuple(tuple(row) for row in printed.limit(limit).collect())
