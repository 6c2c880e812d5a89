"""SQL, seeds, snapshots, versioned models and functions in one graph."""

import datetime as dt
import shutil

import pytest

import penstock
from fakes.place import Place, statuses
from penstock.app.commands.seed import seed
from penstock.plan.values import State

PIPELINE = '''\
from penstock import incremental_table, model, table
from pyspark.sql import functions as F


@model
def named(clean, users):
    return clean.join(users, "user_id").select("id", "name", "day", "amount")


@table
def scored(named):
    """Amounts that count."""
    return named.where("amount > 10")


@incremental_table(time_column="day", lookback="0 days", unique_key="id")
def kept(scored):
    return scored.select("id", "day", "amount")


@table(checks={"after": [{"type": "value_range", "column": "n", "max": 1}]}, on_failure="block")
def versions(scored_history):
    return scored_history.groupBy("id").agg(F.count("*").alias("n"))
'''
MODELS = """\
models:
  - name: scored
    description: Amounts that the shop counts.
    tags: [money]
    columns:
      - {name: id, description: The number of an event., tests: [not_null, unique]}
"""
BY_DAY = """\
name: by_day
start: 2024-01-01
destination: {dataset: m, table: by_day, partition: {field: day, type: DAY}}
versions:
  - version: 1
    effective_from: 2024-01-01
    sql: SELECT day, count(*) AS n FROM m.scored WHERE day = @partition_date GROUP BY day
    schema: [{name: day, type: DATE}, {name: n, type: INT64}]
"""
FIRST, SECOND = dt.date(2024, 1, 1), dt.date(2024, 1, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, spark):
    """The shop after seeds, tables, history and two days of statistics."""
    place = Place(tmp_path_factory.mktemp("graph") / "shop", spark)
    place.source("events", "id INT, user_id INT, day DATE, amount INT")
    place.write("seeds/m/users.csv", "user_id,name\n1,ann\n2,bob\n")
    place.write("models/m/pipeline.py", PIPELINE)
    place.write("models/m/models.yml", MODELS)
    place.write("models/m/by_day.yaml", BY_DAY)
    place.model("clean", "select * from {{ source('raw', 'events') }} where id > 0")
    total = "select day, sum(amount) as amount from {{ ref('scored') }} group by day"
    place.model("total", total, materialized="table")
    changes = {"unique_key": "id", "strategy": "check", "check_cols": "all"}
    history = "select id, amount from {{ ref('scored') }}"
    place.model("scored_history", history, materialized="snapshot", **changes)
    days = ("(1, 1, DATE'2024-01-01', 20)", "(2, 2, DATE'2024-01-02', 30)")
    place.insert("events", ", ".join((*days, "(3, 1, DATE'2024-01-02', 5)")))
    services = place.services()
    try:
        seed(services)
    finally:
        services.close()
    built(place)
    return place.root


@pytest.fixture
def shop(folder, spark, tmp_path):
    shutil.copytree(folder, tmp_path / "shop")
    return Place(tmp_path / "shop", spark)


def built(place):
    """Bring all that is there up to date, with the commands that do it."""
    root = str(place.root)
    reports = [
        penstock.run(root, spark=place.spark, exclude=("versions",), to="2024-01-02"),
        penstock.snapshot_run(root, spark=place.spark),
        penstock.run(root, spark=place.spark, select=("versions",)),
    ]
    return {name: status for each in reports for name, status in statuses(each).items()}


@pytest.mark.matrix
def test_one_graph_of_sql_and_functions(shop):
    assert shop.rows("scored") == [(1, "ann", FIRST, 20), (2, "bob", SECOND, 30)]
    assert shop.rows("total") == [(FIRST, 20), (SECOND, 30)]
    assert shop.rows("by_day") == [(FIRST, 1), (SECOND, 1)]
    assert shop.rows("kept") == [(1, FIRST, 20), (2, SECOND, 30)]
    assert shop.rows("versions") == [(1, 1), (2, 1)]
    assert {each: state for each, state in shop.states().items() if state} == {
        "by_day": [State.NEVER_RUN]  # the days after the second
    }


@pytest.mark.matrix
def test_a_yaml_entry_describes_a_function(shop):
    model = penstock.load(str(shop.root)).models["scored"]

    assert model.description == "Amounts that the shop counts."
    assert model.tags == ("money",)
    assert [(each.name, each.description) for each in model.columns] == [
        ("id", "The number of an event.")
    ]
    assert [each.name for each in model.checks_of(1).after] == ["not_null_id", "unique_id"]


@pytest.mark.matrix
def test_other_code_of_a_function_reaches_all_that_reads_it(shop):
    shop.write("models/m/pipeline.py", PIPELINE.replace("amount > 10", "amount > 4"))
    drifted = {name: str(states[0]) for name, states in shop.states().items() if states}

    report = penstock.sync(str(shop.root), spark=shop.spark, cascade=True, to="2024-01-02")

    assert drifted == {
        "by_day": "never_run",
        "kept": "upstream_changed",
        "scored": "sql_changed",
        "scored_history": "upstream_changed",
        "total": "upstream_changed",
        "versions": "upstream_changed",
    }
    done = [name for name, status in statuses(report).items() if status == "success"]
    assert sorted(done) == ["by_day", "kept", "scored", "total"]  # history has its own command
    assert shop.rows("total") == [(FIRST, 20), (SECOND, 35)]
    assert shop.rows("by_day") == [(FIRST, 1), (SECOND, 2)]


@pytest.mark.matrix
def test_a_check_in_block_keeps_rows_of_a_function_out(shop):
    shop.write(
        "models/m/pipeline.py", PIPELINE.replace('"amount")', 'F.expr("amount + 1 as amount"))')
    )

    found = built(shop)

    assert [name for name, status in found.items() if status == "failed"] == ["versions"]
    assert shop.rows("total") == [(FIRST, 21), (SECOND, 31)]
    assert shop.rows("versions") == [(1, 1), (2, 1)]
