"""The Python entry point in a process where Spark runs already, as in a notebook."""

import penstock


def test_a_running_spark_is_used_and_left(place):
    place.model("orders", "SELECT 1 AS order_id", materialized="table")

    report = penstock.run(place.root)

    assert report.succeeded
    table = place.spark.read.format("delta").load(str(place.root / "warehouse" / "m" / "orders"))
    assert table.first().order_id == 1
