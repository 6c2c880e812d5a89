"""A warehouse that is copied from a disk into a bucket is the same warehouse."""

import pytest

from fakes.bucket_place import STORAGE
from fakes.object_store import KEY, SECRET
from fakes.place import PROJECT, Place, statuses

pytestmark = [pytest.mark.spark, pytest.mark.matrix]


def test_tables_that_are_copied_into_a_bucket_are_current_there(
    spark, tmp_path, bucket, object_server
):
    place = Place(tmp_path / "shop", spark)
    place.source("orders", "id INT, at TIMESTAMP, amount INT")
    place.insert("orders", "(1, '2024-01-01 10:00', 5)")
    query = "select id, at, amount from {{ source('raw', 'orders') }}"
    place.model("log", query, materialized="append", time_column="at")
    place.model("total", "select count(*) as n from {{ ref('log') }}", materialized="table")
    assert place.run().succeeded

    access = STORAGE.format(endpoint=object_server.endpoint, key=KEY, secret=SECRET)
    target = PROJECT[PROJECT.index("targets") :].replace(
        'dev: {warehouse: warehouse, spark: {master: "local[1]"}}\n',
        f'dev:\n    warehouse: {bucket}/prod\n    spark: {{master: "local[1]"}}\n{access}',
    )
    place.write("penstock.yml", f"name: shop\nversion: 1\n{target}")
    place.services().close()  # from here on this process connects as the project says
    warehouse = place.root / "warehouse"
    for path in warehouse.rglob("*"):
        if path.is_file():
            (bucket / f"prod/{path.relative_to(warehouse)}").write_bytes(path.read_bytes())

    assert not any(place.states().values())
    place.insert("orders", "(2, '2024-01-02 10:00', 7)")
    assert statuses(place.run()) == {"log": "success", "total": "success"}
    assert place.run().plan.is_empty
