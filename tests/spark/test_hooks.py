"""Hooks on Spark: what they see, in order, and what a catalog without rights answers."""

import pytest

from fakes import delta_tables
from penstock.core.errors import QueryError
from penstock.strategies.grants import show_grants

PROJECT = """\
name: shop
version: 1
targets:
  dev: {{warehouse: warehouse, spark: {{master: "local[1]"}}}}
hooks:
  after: "insert into delta.`{log}` select concat(model, ' ', status), rows from penstock_results"
"""


def test_hooks_see_the_session_the_table_and_the_results_of_the_run(place):
    log = f"{place.root}/audit"
    delta_tables.create(log, "line STRING, rows BIGINT")
    place.write("penstock.yml", PROJECT.format(log=log))
    place.model(
        "a",
        "select cast('x' as int) as id union all select 1",
        materialized="table",
        pre_hook="set spark.sql.ansi.enabled = false",
        post_hook=f"insert into delta.`{log}` "
        "select '{{ this }}', count(*) from {{ this }}",
    )

    report = place.run()

    assert report.succeeded
    assert sorted(place.sql(f"select * from delta.`{log}`")) == [("a success", 2), ("m.a", 2)]
    assert [each for each in place.states().values() if each] == []


def test_plain_spark_knows_no_grants_and_says_so_in_one_sentence(place):
    services = place.services()
    with services.engine.session("a") as session, pytest.raises(QueryError) as caught:
        session.rows(show_grants("delta.`/x`"))
    services.close()

    assert "\n" not in caught.value.sentence
