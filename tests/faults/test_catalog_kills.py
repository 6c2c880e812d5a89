"""A run that dies between the files of a table and its name in the catalog."""

import pytest

from fakes.command import kill_at
from fakes.kill_project import PROJECT
from fakes.place import Place, statuses

NAME = "spark_catalog.found_again.log"


@pytest.mark.matrix
def test_a_table_that_its_catalog_never_heard_of_is_entered_as_the_step_is_recovered(
    spark, tmp_path
) -> None:
    place = Place(tmp_path, spark)
    place.write("penstock.yml", PROJECT.replace("  dev:\n", "  dev:\n    catalog: spark_catalog\n"))
    place.source("events", "id INT, amount INT")
    place.insert("events", "(1, 10)")
    query = "select id, amount from {{ source('raw', 'events') }}"
    place.model("log", query, materialized="merge", unique_key="id", schema="found_again")

    kill_at("after-commit:1", place.root, "run", spark=spark)
    place.sql(f"DROP TABLE {NAME}")  # as if the process had died before the catalog was told
    recovered = place.run()
    known = place.sql(f"SELECT id, amount FROM {NAME}")
    place.sql(f"DROP TABLE {NAME}")  # as a catalog that was lost
    place.insert("events", "(2, 20)")
    second = place.run()

    try:
        assert recovered.succeeded
        assert known == [(1, 10)]
        assert statuses(second) == {"log": "success"}
        assert place.sql(f"SELECT id, amount FROM {NAME} ORDER BY id") == [(1, 10), (2, 20)]
    finally:
        place.sql("DROP SCHEMA spark_catalog.found_again CASCADE")
