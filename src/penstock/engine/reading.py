"""Relations as frames: the rows of each, at its version and within its window."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import TableError
from penstock.core.names import literal, quoted
from penstock.core.steps.inputs import (
    CatalogRead,
    DeltaRead,
    FilesRead,
    FunctionRead,
    QueryRead,
    Relation,
)
from penstock.core.steps.window import Window
from penstock.engine.disk.disks import is_local, local_path
from penstock.engine.functions import SharedFrames
from penstock.engine.log.files import files_in_checksum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.core.findings import Location


def read(spark: SparkSession, relation: Relation, frames: SharedFrames | None = None) -> DataFrame:
    """Return the frame of a relation within its window, without running it."""
    match relation.read:
        case DeltaRead(uri, int() as version, changes_since=int() as since):
            frame = _changes(spark, uri, since, version)
        case DeltaRead(uri, None):
            frame = spark.read.format("delta").load(uri)
        case DeltaRead(uri, int() as version):
            frame = _few_files(spark, uri, version, relation.window) or (
                spark.read.format("delta").option("versionAsOf", version).load(uri)
            )
        case FilesRead():
            frame = _read_files(spark, relation.read, str(relation.input))
        case QueryRead(sql):
            frame = spark.sql(sql)
        case CatalogRead(name):
            frame = spark.table(name)
        case FunctionRead():
            frame = (frames or SharedFrames({})).frame(spark, relation.read)
    return frame.where(relation.window.condition) if relation.window else frame


_SMALL = 32 << 20
"""Files with fewer bytes are read faster than Delta finds the ones that are needed."""


def _few_files(
    spark: SparkSession, uri: str, version: int, window: Window | None
) -> DataFrame | None:
    """Return the rows of a version by the list of its files in Delta's checksum.

    Otherwise Delta works them out from the log, with five jobs that take half a second. None if the
    files are large, if there is no list, or if this Delta does not take one.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame

    listed = files_in_checksum(uri, version, window, _SMALL) if is_local(uri) else None
    if listed is None:
        return None
    java: Any = spark._jvm  # noqa: SLF001  Delta has no Python API that takes files
    session: Any = spark._jsparkSession  # noqa: SLF001
    try:
        nothing = java.scala.Option.empty()
        log = java.org.apache.spark.sql.delta.DeltaLog.forTable(session, uri)
        snapshot = log.getSnapshotAt(version, nothing, nothing, False)  # noqa: FBT003
        checksum = snapshot.checksumOpt().get()
        if checksum.txnId().get() != listed.transaction:
            return None
        files = checksum.allFiles().get()
        if files.size() != len(listed.sizes):
            kept = [f for n in range(files.size()) if (f := files.apply(n)).path() in listed.sizes]
            files = java.org.apache.spark.api.python.PythonUtils.toSeq(kept)
        java.org.apache.spark.sql.classic.SparkSession.setActiveSession(session)
        return DataFrame(log.createDataFrame(snapshot, files, False, nothing), spark)  # noqa: FBT003
    except (Py4JError, PySparkException, TypeError):
        return None


def _changes(spark: SparkSession, uri: str, since: int, version: int) -> DataFrame:
    """Return the changes after a version, up to and including another one."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    first = min(since + 1, version)
    reader = reader.option("startingVersion", first).option("endingVersion", version)
    return reader.load(uri).where(f"_commit_version > {since}")


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
    frame = _loaded(spark, files, declared, files.options)
    if files.keeps_void and (void := _void_columns(spark, frame, files)):
        # a layer of its own: Spark knows the type of NULL, and Parquet does not
        made = ("NULL AS " * (name in void) + quoted(name) for name in frame.columns)
        frame = frame.selectExpr(*made)
    found = {column.lower(): kind for column, kind in frame.dtypes}
    for column, kind in files.columns:
        if found.get(column.lower()) != kind:
            frame = frame.withColumn(column, frame[quoted(column)].cast(kind))
    return frame


AVRO = "org.apache.spark.sql.avro.AvroFileFormat"
"""Spark contains its reader of Avro, and calls it `avro` only where `spark-avro` is added."""


def _loaded(
    spark: SparkSession, files: FilesRead, declared: str, options: Mapping[str, str]
) -> DataFrame:
    # a name is a name, whatever signs are in it: files are listed, not looked for
    kind = AVRO if files.format.lower() == "avro" else files.format
    reader = spark.read.format(kind).options(**options).option(_GLOBS, "false")
    lowered = {key.lower(): value.lower() for key, value in options.items()}
    has_header = files.format.lower() != "csv" or lowered.get("header", "false") == "true"
    if files.schema or (declared and not has_header):
        reader = reader.schema(files.schema or declared)
    if files.files != (files.root,):  # a folder: its subfolders may be partitions
        reader = reader.option("basePath", files.root)
    return reader.load([*files.files])


def _void_columns(spark: SparkSession, frame: DataFrame, files: FilesRead) -> set[str]:
    """Return the columns without a type in any Parquet file: Spark reads them as INT.

    Files are read until each column has a type, so usually one.
    """
    void = {name for name, kind in frame.dtypes if kind == "int"}
    java: Any = spark._jvm  # noqa: SLF001  PySpark reads no footers
    parquet, conf = java.org.apache.parquet.hadoop, spark._jsc.hadoopConfiguration()  # noqa: SLF001
    for file in files.files:
        local = local_path(file)
        void -= {part.partition("=")[0] for part in local.split("/") if "=" in part}
        if not void:
            break
        place = java.java.io.File(local).toURI() if is_local(file) else file
        path = java.org.apache.hadoop.fs.Path(place)
        reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(path, conf))
        try:
            fields = reader.getFileMetaData().getSchema().getFields()
        finally:
            reader.close()
        for field in fields:
            kind = field.getLogicalTypeAnnotation()
            if kind is None or kind.toString() != "UNKNOWN":
                void.discard(field.getName())
    return void


_BAD_VALUE = re.compile(
    r"CAST_INVALID_INPUT|CAST_OVERFLOW|MALFORMED_RECORD|PARSE_DATETIME|CANNOT_PARSE_TIMESTAMP"
    r"|FAILED_READ_FILE"
)


def bad_value(
    spark: SparkSession, relations: Iterable[Relation], message: str, *, where: Location | None
) -> TableError | None:
    """Return the source, file and column of a value that does not have its declared type.

    Spark's message `said` contains only the value. None if that is not the cause.
    """
    for relation in relations if _BAD_VALUE.search(message) else ():
        found = _misfit(spark, relation.read)
        if found is not None:
            file, column, kind = found
            return TableError(
                "bad-source-value",
                f"source {relation.input}: column {column} holds values that are not {kind}, "
                f"in {file}",
                where=where,
                hint="correct the file, or declare the column STRING and try_cast it",
            )
    return None


def _misfit(spark: SparkSession, files: object) -> tuple[str, str, str] | None:
    """Return file, column and type of the first misfit in CSV: everything is read again as text."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    if not (isinstance(files, FilesRead) and files.columns and files.format.lower() == "csv"):
        return None
    lowered = {key.lower(): value for key, value in files.options.items()}
    options = {key: v for key, v in files.options.items() if key.lower() not in _GUESSING}
    texts = ", ".join(f"{quoted(name)} STRING" for name, _ in files.columns)
    frame = _loaded(spark, files, texts, options)
    there = {name.lower() for name in frame.columns}
    columns = [each for each in files.columns if each[0].lower() in there]
    tests = [
        F.when(F.expr(f"{quoted(name)} IS NOT NULL AND {_typed(name, kind, lowered)} IS NULL"), n)
        for n, (name, kind) in enumerate(columns)
    ]
    bad = F.coalesce(*tests, F.lit(None).cast("INT"))
    found = frame.select(F.input_file_name(), bad.alias("bad")).where("bad IS NOT NULL")
    try:
        row = found.first()
    except (PySparkException, Py4JError):  # then what Spark said first is all that is known
        row = None
    return row and (local_path(unquote(row[0])), *columns[row[1]])


_GUESSING = {"mode", "inferschema"}


def _typed(name: str, kind: str, options: Mapping[str, str]) -> str:
    """Return SQL that casts a text to the declared type, or gives NULL."""
    is_time = kind.lower().startswith("timestamp")
    pattern = options.get("timestampformat" if is_time else "dateformat", "")
    if pattern and (is_time or kind.lower() == "date"):
        return f"try_cast(try_to_timestamp({quoted(name)}, {literal(pattern)}) AS {kind})"
    return f"try_cast({quoted(name)} AS {kind})"


_NARROW = {"Project", "Filter", "SubqueryAlias", "View", "LogicalRelation", "Union"}
_UNSURE = ("PYTHON_UDF", "SCALA_UDF", "PLAN_EXPRESSION", "CURRENT_LIKE")


def replays(frame: DataFrame, relations: Iterable[Relation]) -> bool:
    """Return whether a frame always gives the same rows; `relations` are its possible inputs."""
    reads = [relation.read for relation in relations]
    if any(isinstance(each, DeltaRead) and each.version is None for each in reads):
        return False
    if not all(isinstance(each, DeltaRead | QueryRead) for each in reads):
        return False
    java: Any = frame.sparkSession._jvm  # noqa: SLF001  PySpark has no word for plans
    patterns = java.org.apache.spark.sql.catalyst.trees.TreePattern
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    unsure = any(plan.containsPattern(getattr(patterns, name)()) for name in _UNSURE)
    nodes, sure = [plan], plan.deterministic() and not unsure
    while nodes and sure:
        node = nodes.pop()
        sure = node.getClass().getSimpleName() in _NARROW
        children = node.children()
        nodes += [children.apply(number) for number in range(children.size())]
    return bool(sure)


def commented(frame: DataFrame, comments: Mapping[str, str]) -> DataFrame:
    """Return a frame whose columns have these comments, for the tables that are made from it."""
    texts = {name.lower(): text for name, text in comments.items()}
    names = {name.lower() for name in frame.columns}
    if not texts.keys() & names or len(names) < len(frame.columns):  # a name twice is for others
        return frame
    columns = []
    for field in frame.schema.fields:
        column, text = frame[quoted(field.name)], texts.get(field.name.lower())
        metadata = {**(field.metadata or {}), "comment": text}
        columns.append(column.alias(field.name, metadata=metadata) if text else column)
    return frame.select(*columns)


def schema_of(frame: DataFrame) -> Schema:
    """Return a frame's columns as a `Schema`."""
    columns = []
    for field in frame.schema.fields:
        comment = (field.metadata or {}).get("comment", "")
        columns.append(Column(field.name, field.dataType.simpleString(), field.nullable, comment))
    return Schema(tuple(columns))
