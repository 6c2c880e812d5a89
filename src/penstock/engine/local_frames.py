"""Frames of pandas, Polars and Arrow that a function returns, as frames of Spark.

All take one way: as a table of Arrow, in types that Spark has, which Spark reads without a loop.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from penstock.core.columns.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

MUCH = 1_000_000_000
"""Bytes from which a warning says that Spark would do better."""
_OF_POLARS = ("DataFrame", "LazyFrame")
_OF_ARROW = ("Table", "RecordBatch", "RecordBatchReader")


class UnfitFrameError(ValueError):
    """A local frame that Spark cannot take; the text says why."""


def local_kind(value: object) -> str:
    """Return what kind of local frame a value is, "" if it is none.

    >>> import pyarrow
    >>> local_kind(pyarrow.table({"a": [1]})), local_kind(None)
    ('Arrow Table', '')
    """
    for kind in type(value).__mro__:
        home, name = kind.__module__.partition(".")[0], kind.__name__
        if kind.__module__.startswith("pyspark.pandas") and name == "DataFrame":
            return "pandas-on-Spark DataFrame"
        if home == "pandas" and name == "DataFrame":
            return "pandas DataFrame"
        if home == "polars" and name in _OF_POLARS:
            return f"Polars {name}"
        if home == "pyarrow" and name in _OF_ARROW:
            return f"Arrow {name}"
    return ""


def spark_frame(spark: SparkSession, value: Any, declared: Schema, model: str) -> DataFrame:  # noqa: ANN401
    """Return a local frame as a frame of a session, with the declared types where there are any.

    Warns from 1 GB on. Raises `UnfitFrameError`.
    """
    import pyarrow as pa

    kind = local_kind(value)
    if kind == "pandas-on-Spark DataFrame":
        return value.to_spark()  # type: ignore[no-any-return]  # a frame by its contract
    try:
        table = _fitting(_table(value, kind))
        if not table.num_columns:
            raise UnfitFrameError("it has no columns")
        schema = _schema(table, declared)
        frame: DataFrame = spark.createDataFrame(table, schema)
    except (pa.ArrowException, TypeError, ValueError) as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        sentence = f"returned {_with_article(kind)} that Spark cannot take: {said[:200]}"
        raise UnfitFrameError(sentence) from error
    if table.nbytes > MUCH:
        size = f"{table.nbytes / MUCH:.1f} GB"
        sentence = f"{model} returned {_with_article(kind)} of {size}, held by this process"
        warnings.warn(f"{sentence}; build it with Spark", UserWarning, stacklevel=2)
    return frame


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind.startswith("A") else f"a {kind}"


def _table(value: Any, kind: str) -> pa.Table:  # noqa: ANN401  a local frame
    import pyarrow as pa

    match kind:
        case "pandas DataFrame":
            odd = [each for each in value.columns if not isinstance(each, str)]
            if odd:
                raise UnfitFrameError(f"its column {odd[0]!r} has no text as its name")
            return pa.Table.from_pandas(value, preserve_index=False).replace_schema_metadata()
        case "Polars LazyFrame":
            return value.collect().to_arrow()
        case "Polars DataFrame":
            return value.to_arrow()
        case "Arrow RecordBatch":
            return pa.Table.from_batches([value])
        case "Arrow RecordBatchReader":
            return value.read_all()
    return value


def _fitting(table: pa.Table) -> pa.Table:
    """Return a table in types that Spark has; a value that one cannot hold is an error."""
    import pyarrow as pa

    fields = [pa.field(each.name, _fitting_type(each.type, each.name)) for each in table.schema]
    return table.cast(pa.schema(fields))


def _fitting_type(kind: Any, name: str) -> Any:  # noqa: ANN401  a type of Arrow
    """Return the type of Arrow whose values Spark has; times without a zone are UTC."""
    import pyarrow as pa

    is_ = pa.types
    simple = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.date64(): pa.date32(),
        pa.string_view(): pa.string(),
        pa.binary_view(): pa.binary(),
        pa.large_string(): pa.string(),
        pa.large_binary(): pa.binary(),
    }
    if kind in simple:
        return simple[kind]
    if is_.is_dictionary(kind):
        return _fitting_type(kind.value_type, name)
    if is_.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if is_.is_duration(kind):
        return pa.duration("us")
    if is_.is_struct(kind):
        return pa.struct([(each.name, _fitting_type(each.type, name)) for each in kind])
    if is_.is_map(kind):
        return pa.map_(_fitting_type(kind.key_type, name), _fitting_type(kind.item_type, name))
    if any(is_so(kind) for is_so in (is_.is_list, is_.is_large_list, is_.is_fixed_size_list)):
        return pa.list_(_fitting_type(kind.value_type, name))
    if is_.is_time(kind) or is_.is_union(kind):
        raise UnfitFrameError(f"its column {name!r} is of Arrow's type {kind}; make it a text")
    return kind


def _schema(table: pa.Table, declared: Schema) -> StructType:
    """Return the columns of a table, with declared types where there are any."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import DataType, StructField, StructType

    fields = []
    for each in from_arrow_schema(table.schema):
        wanted = declared.find(each.name)
        kind = DataType.fromDDL(wanted.type) if wanted else each.dataType
        fields.append(StructField(each.name, kind))
    return StructType(fields)
