"""What type checkers see of the decorators: mypy reads it, nothing runs it.

An ignore that is not needed is an error, so each says that a mistake is seen.
"""

import datetime as dt
from decimal import Decimal
from typing import assert_type

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import penstock
from penstock import incremental_table, model, source, table
from penstock.project.python.declare import PythonModel, TableMeta

app = penstock.conf(root=".", env="dev", threads=2)


@source
def raw_logs(spark: SparkSession) -> DataFrame:
    """Declare a source by the bare decorator."""
    return spark.read.json("landing/logs")


@source(path="landing/users", format="csv", options={"header": "true"})
def users(df: DataFrame) -> DataFrame:
    """Declare a source of files."""
    return df


@model(persist=False, tags=["clean"])
def clean_logs(raw_logs: DataFrame, factor: int = 2) -> DataFrame:
    """Declare a frame between others."""
    return raw_logs.where(f"n > {factor}")


@table
def priced(clean_logs: DataFrame, rate: float = penstock.param(1.1)) -> DataFrame:
    """Declare a table with a value that runs set."""
    return clean_logs.where(f"n > {rate}")


@model(schema=StructType([]), columns={"id": "The number."})
def declared(clean_logs: DataFrame) -> DataFrame:
    """Declare the columns of a frame."""
    return clean_logs


@app.incremental_table(
    time_column="ts", partition_by=["date"], lookback=dt.timedelta(days=1), delta=["clean_logs"]
)
def events(clean_logs: DataFrame) -> DataFrame:
    """Declare an incremental table of an app."""
    return clean_logs


@table(schema="marts", checks={"after": [{"type": "not_null", "column": "id"}]})
def totals(events: DataFrame) -> DataFrame:
    """Declare a table."""
    return events


@table(partition_by="country").over(country=["nl", "be"], year={"last": 2024})
def orders(country: str, year: int, events: DataFrame) -> DataFrame:
    """Declare a table per country."""
    return events.where(f"country = '{country}' and year(ts) = {year}")


@app.incremental_table(time_column="ts").over(country=["nl", "be"])
def visits(country: str, events: DataFrame) -> DataFrame:
    """Declare an incremental table per country."""
    return events.where(f"country = '{country}'")


def calls(frame: DataFrame) -> None:
    """Call what was decorated as the plain function, and as a model."""
    assert_type(events(frame), DataFrame)
    assert_type(clean_logs(frame, factor=3), DataFrame)
    assert_type(totals.build(), DataFrame)
    assert_type(totals.build_lazy(), DataFrame)
    assert_type(events.get_meta(), TableMeta)
    assert_type(events.partitions(), list[dict[str, str | None]])
    assert_type(priced(frame, rate=2), DataFrame)
    app.run("priced", params={"rate": 1.2}, safe=False)
    assert_type(app.run([events, "totals"])["totals"], penstock.ModelResult)
    events.rerun(dt.date(2025, 1, 15), "2025-01-16")
    events.rerun(Decimal("1.5"), 2)
    assert_type(orders("nl", 2024, frame), DataFrame)
    assert_type(orders["orders_nl_last"].build(), DataFrame)
    assert_type([each.name for each in visits], list[str])
    app.run(orders)

    orders("nl", "2024", frame)  # type: ignore[arg-type]
    events("x")  # type: ignore[arg-type]
    totals(1, 2)  # type: ignore[call-arg, arg-type]
    clean_logs(frame, factr=3)  # type: ignore[call-arg]
    events.rerun(1.5, 2)  # type: ignore[arg-type]


def refused() -> None:
    """Decorate with options that there are not."""
    incremental_table(partition_by="date")  # type: ignore[call-arg]
    incremental_table(time_column="ts", partition_mode="overwite")  # type: ignore[arg-type]
    table(lookback="1 day")  # type: ignore[call-overload]
    model(schema=["marts"])  # type: ignore[call-overload]


def sees_the_signature(given: "PythonModel[[DataFrame], DataFrame]") -> None:
    """Keep what a function takes."""
    sees_the_signature(events)
    sees_the_signature(clean_logs)  # fine: it may be called so
    sees_the_signature(raw_logs)  # type: ignore[arg-type]
