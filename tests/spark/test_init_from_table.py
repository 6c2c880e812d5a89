"""A model that `init --from-table` writes builds the rows of its table."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import penstock
from penstock.app.commands.init import init_from_table

DAY = dt.date(2024, 3, 1)
PRICES = {"a b": 1, "{{ x }}": 2, "order": 3, "it's": 4, "a`b": 5, "a.b": 6}


def test_models_over_tables_are_validated_planned_and_built(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits = pa.table({"id": [1, 2], "day": [DAY, DAY + dt.timedelta(days=1)]})
    write_deltalake("lake/visits", visits, partition_by=["day"])
    columns = ", ".join(f"{n} as `{name.replace('`', '``')}`" for name, n in PRICES.items())
    prices = spark.sql(f"select {columns}").write.format("delta")
    prices.option("delta.columnMapping.mode", "name").save(f"{tmp_path}/lake/odd prices")

    init_from_table(tmp_path / "shop", "lake/visits")
    init_from_table(tmp_path / "shop", "lake/odd prices")
    findings = penstock.load("shop").findings
    report = penstock.run("shop", spark=spark)

    assert findings == ()
    assert {each.name: each.status for each in report.results} == {
        "odd_prices": "success",
        "visits": "success",
    }
    made = DeltaTable("shop/warehouse/staging/visits")
    assert made.metadata().partition_columns == ["day"]
    assert made.to_pyarrow_table().sort_by("id").to_pydict() == visits.to_pydict()
    odd = spark.sql(f"select * from delta.`{tmp_path}/shop/warehouse/staging/odd_prices`")
    assert odd.collect()[0].asDict() == PRICES
    assert penstock.run("shop", dry_run=True).plan.is_empty
