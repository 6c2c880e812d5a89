"""Python models of dbt: functions of penstock where they only read tables, else named with why."""

import pytest

from penstock.project.dbt.translate import DbtFiles, translate

HAND = "write it as a function of penstock, see docs/python.md"
SHORT = "def model(dbt, session):\n    return {}\n"


def imported(text, **more):
    files = {"dbt_project.yml": "name: shop\n", "models/orders.sql": "select 1 as id\n", **more}
    files["models/best.py"] = text
    return translate(DbtFiles({path: each.encode() for path, each in files.items()}))


def notes(project):
    (found,) = [each for each in project.sources if each.source == "models/best.py"]
    return {note.what: (str(note.fate), note.why) for note in found.notes}


def test_what_a_model_reads_becomes_parameters_and_the_rest_stays():
    project = imported(
        '''\
"""The best orders."""
from __future__ import annotations

import pyspark.sql.functions as F  # as everywhere


def keep(frame):
    return frame.where(F.col("id") > 0)


def model(dbt, session):
    dbt.config(materialized="table", tags=["nightly"])
    orders = dbt.ref("orders")  # all of them
    pays = dbt.source("raw", "pays")
    days = session.range(3)

    return keep(orders.join(pays, "id")).crossJoin(days)
''',
        **{"models/sources.yml": "sources: [{name: raw, tables: [{name: pays}]}]\n"},
    )

    assert project.files["models/best.py"].decode() == (
        '''\
# From models/best.py of the dbt project.
"""The best orders."""
from __future__ import annotations
from penstock import table

import pyspark.sql.functions as F  # as everywhere


def keep(frame):
    return frame.where(F.col("id") > 0)


@table(schema='shop', tags=['nightly'])
def best(orders, raw__pays, spark):
    orders = orders  # all of them
    pays = raw__pays
    days = spark.range(3)

    return keep(orders.join(pays, "id")).crossJoin(days)
'''
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            SHORT.format("dbt.ref('orders').where(dbt.is_incremental)"),
            "line 2 uses more of dbt than ref and source",
        ),
        (SHORT.format("dbt.ref(name)"), "line 2 reads a table whose name is not a text"),
        (SHORT.format("dbt.ref('df')"), "df cannot name a parameter"),
        ("def model(handle, session):\n    return 1\n", "its first parameter is handle, not dbt"),
        ("def other(dbt, session):\n    return 1\n", "it has no function model(dbt, session)"),
        ("def model(dbt, session:\n", "the file is not Python"),
    ],
)
def test_a_model_that_uses_more_of_dbt_needs_a_hand(text, why):
    project = imported(text)

    assert "models/best.py" not in project.files
    assert notes(project) == {"model": ("by hand", f"{why}; {HAND}")}


def test_options_that_a_function_does_not_have_are_named():
    config = "dbt.config(materialized='incremental', packages=['numpy'], unique_key='id')"
    project = imported(f"def model(dbt, session):\n    {config}\n    return dbt.ref('orders')\n")

    found = notes(project)
    assert found["config.materialized"] == (
        "by hand",
        "write @incremental_table instead of incremental",
    )
    assert found["config.packages"] == (
        "dropped",
        "a Python model runs in the session of its step",
    )
    assert found["config.unique_key"] == (
        "by hand",
        "options of Python models are those of @table",
    )
