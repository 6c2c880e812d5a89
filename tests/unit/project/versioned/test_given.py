from __future__ import annotations

import pytest

from fakes.versioned_cases import SQL, daily
from penstock.core.partitions.partition import Grain
from penstock.core.strategy import Layout
from penstock.strategies.table import Table
from penstock.strategies.view import View


@pytest.mark.parametrize(
    ("partition", "lies"),
    [
        ("{field: date, type: day}", Layout(partition_by=("date",))),
        ("{field: date, type: MONTH}", Layout(cluster_by=("date", "users"))),
        (
            "{field: users, type: RANGE, start: 0, end: 9, interval: 3}",
            Layout(cluster_by=("users",)),
        ),
    ],
)
def test_a_table_lies_by_its_partition(load, partition, lies):
    written = f"{partition}\n  cluster: [users]"

    model = load(daily("{field: date, type: DAY}", written)).models["daily"]

    assert model.layout == lies


def test_a_written_layout_wins(load):
    partition = "{field: date}\n  cluster: [users]\n  layout: clustered"

    model = load(daily("{field: date, type: DAY}", partition)).models["daily"]

    assert model.layout == Layout(cluster_by=("date", "users"))


def test_a_model_without_a_partition_is_a_table_or_a_view(load):
    sql = {"models/daily.sql": SQL.partition(" WHERE")[0]}
    table = load({**daily("  partition: {field: date, type: DAY}\n"), **sql}).models["daily"]
    view = load(
        {**daily("  partition: {field: date, type: DAY}\n", more="strategy: view\n"), **sql}
    ).models["daily"]

    assert (table.strategy, table.grid.grain, len(table.versions)) == (Table(), Grain.WHOLE, 1)
    assert (view.strategy, len(view.versions)) == (View(), 1)
