"""Relations as frames: the rows of each, at the version and with the window that it says."""

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
    """Give the frame of a relation, with its window on it; nothing is run."""
    match relation.read:
        case DeltaRead(uri, version):
            reader = spark.read.format("delta")
            frame = (reader if version is None else reader.option("versionAsOf", version)).load(uri)
        case FilesRead():
            frame = _read_files(spark, relation.read, str(relation.input))
        case QueryRead(sql):
            frame = spark.sql(sql)
        case CatalogRead(name):
            frame = spark.table(name)
        case FunctionRead():
            frame = (frames or SharedFrames({})).frame(spark, relation.read)
    return frame.where(relation.window.condition) if relation.window else frame


_GLOBS = "__globPaths__"  # as Spark's own readers say it


def _read_files(spark: SparkSession, files: FilesRead, name: str) -> DataFrame:
    declared = ", ".join(f"{quoted(column)} {kind}" for column, kind in files.columns)
    if not files.files:
        if not declared:
            raise TableError(
                "source-empty",
                f"source {name} has no files under {files.root} and declares no columns",
                hint="declare its columns with their types, or deliver a file",
            )
        return spark.createDataFrame([], declared)
    # a name is a name, whatever signs are in it: files are listed, not looked for
    reader = spark.read.format(files.format).options(**files.options).option(_GLOBS, "false")
    options = {key.lower(): value.lower() for key, value in files.options.items()}
    has_header = files.format.lower() != "csv" or options.get("header", "false") == "true"
    if declared and not has_header:
        reader = reader.schema(declared)
    if files.files != (files.root,):  # a folder: its subfolders may be partitions
        reader = reader.option("basePath", files.root)
    frame = reader.load([*files.files])
    found = {column.lower(): kind for column, kind in frame.dtypes}
    for column, kind in files.columns:
        if found.get(column.lower()) != kind:
            frame = frame.withColumn(column, frame[quoted(column)].cast(kind))
    return frame


def schema_of(frame: DataFrame) -> Schema:
    """Give a frame's columns in our words."""
    columns = []
    for field in frame.schema.fields:
        comment = (field.metadata or {}).get("comment", "")
        columns.append(Column(field.name, field.dataType.simpleString(), field.nullable, comment))
    return Schema(tuple(columns))
