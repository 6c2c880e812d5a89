"""Calling the functions of a project: frames in, one frame out, and what may be wrong with it."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from penstock.core.errors import ModelFailedError, PenstockError, PythonModelError
from penstock.core.findings import Location
from penstock.core.steps.inputs import FunctionRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS_SHOWN = 20


def call(spark: SparkSession, read: FunctionRead) -> DataFrame:
    """Call a function with the frames of its inputs; nothing is run.

    Raises `ModelFailedError` for whatever it raises, `PythonModelError` for what is no frame that
    a table can hold.
    """
    given: dict[str, object] = {name: spark.table(view) for name, view in read.views.items()}
    if "spark" in read.function.reserved:
        given["spark"] = spark
    try:
        frame = read.function.call(**given)
    except PenstockError:
        raise
    except Exception as error:
        raise _failed(read, error) from error
    return _sound(read, frame)


def _failed(read: FunctionRead, error: Exception) -> ModelFailedError:
    """Name the innermost line that is no library's."""
    name = type(error).__name__
    sentence = f"{read.model!r} raised {name}: {error}".splitlines()[0][:300]
    folder = read.where.path.rpartition("/")[0]
    where = read.where
    for frame in traceback.extract_tb(error.__traceback__):
        place = frame.filename.replace("\\", "/")
        if place.endswith(read.where.path) or (folder and f"/{folder}/" in place):
            shown = place[place.rfind(folder) :] if folder else read.where.path
            where = Location(shown, frame.lineno or 1)
    return ModelFailedError("model-failed", sentence, where=where)


def _sound(read: FunctionRead, frame: object) -> DataFrame:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import NullType

    def refused(code: str, sentence: str, hint: str) -> PythonModelError:
        return PythonModelError(code, f"{read.model!r} {sentence}", where=read.where, hint=hint)

    if not isinstance(frame, DataFrame):
        pandas = sys.modules.get("pandas")
        is_pandas = pandas is not None and isinstance(frame, pandas.DataFrame)
        hint = "spark.createDataFrame(...) makes one of it" if is_pandas else "return a DataFrame"
        sentence = f"returned {'a pandas' if is_pandas else 'a'} {type(frame).__name__}"
        sentence = "returned None" if frame is None else sentence
        raise refused("not-a-frame", sentence, hint)
    if frame.isStreaming:
        raise refused("streaming-frame", "returned a streaming frame", "read it as a batch")
    seen: set[str] = set()
    for field in frame.schema.fields:
        if field.name.lower() in seen:
            sentence = f"returned column {field.name!r} twice"
            raise refused("duplicate-column", sentence, "select or rename one of them")
        seen.add(field.name.lower())
        if isinstance(field.dataType, NullType):
            sentence = f"returned column {field.name!r} without a type"
            raise refused("void-column", sentence, "cast it: F.lit(None).cast('string')")
    return frame
