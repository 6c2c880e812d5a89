"""Reading for a step: relations as frames, and frames in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import TableError
from penstock.core.names import quoted
from penstock.core.steps.inputs import (
    CatalogRead,
    DeltaRead,
    FilesRead,
    FunctionRead,
    QueryRead,
    Relation,
)
from penstock.engine.functions import SharedFrames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, relation: Relation, frames: SharedFrames | None = None) -> DataFrame:
    """Give the frame of a relation, with its window on it; nothing is run.

    `frames` are those that the sessions of a run share.
    """
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
        case FunctionRead():
            frame = (frames or SharedFrames({})).frame(spark, relation.read)
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
