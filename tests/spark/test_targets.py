"""Two targets of one project on real tables: reading there, comparing with it, cloning it."""

import pytest

import penstock
from fakes.command import kill_at
from fakes.place import Place
from penstock.app.commands.clone import clone
from penstock.app.read_requests import CloneRequest
from penstock.app.services.wire import ask

YML = """\
name: shop
vars: {least: 0}
targets:
  dev: {warehouse: mine, schema_prefix: dev_, spark: {master: "local[1]"}}
  prod: {warehouse: theirs, vars: {least: 1}, spark: {master: "local[1]"}}
"""
EVENTS = "select id, amount, seen from {{ source('raw', 'events') }}"


@pytest.fixture
def place(spark, tmp_path):
    place = Place(tmp_path, spark)
    place.write("penstock.yml", YML)
    place.source("events", "id INT, amount INT, seen DATE")
    place.insert("events", "(1, 10, DATE'2024-03-01'), (2, 20, DATE'2024-03-02')")
    place.model("log", EVENTS, materialized="append", time_column="seen")
    place.model("big", "select * from {{ ref('log') }} where amount > {{ var('least') }}")
    place.model("totals", "select sum(amount) n from {{ ref('big') }}", materialized="table")
    place.model("report", "select n from {{ ref('totals') }}", materialized="table")
    return place


def run(place, target, **asked):
    return penstock.run(place.root, target=target, spark=place.spark, threads=1, **asked)


def rows(place, warehouse, table):
    return place.sql(f"SELECT * FROM delta.`{place.root}/{warehouse}/{table}` ORDER BY 1")


def states(place, target, **asked):
    found = penstock.status(place.root, target=target, **asked).models
    return {m.model: ", ".join(str(s.state) for s in m.states) or "current" for m in found}


def cloned(place, **asked):
    request = CloneRequest(place.root, source="prod", target="dev", spark=place.spark, **asked)
    return ask(request, clone)


def test_only_what_changed_is_built_and_the_rest_is_read_in_the_other_target(place):
    run(place, "prod")
    place.model("totals", "select sum(amount) + 1 n from {{ ref('big') }}", materialized="table")

    report = run(place, "dev", select=["state:modified+"], state="prod", defer_to="prod")

    assert {each.name: each.status for each in report.results} == {
        "totals": "success",
        "report": "success",
    }
    assert [(d.source.input, str(d.pin)) for d in report.plan.deferred] == [
        ("big", "None"),
        ("log", "v0"),
    ]
    assert rows(place, "mine", "dev_m/report") == [(31,)]
    assert rows(place, "theirs", "m/report") == [(30,)]
    assert not (place.root / "mine/dev_m/log").exists()
    assert states(place, "dev")["totals"] == "current"

    place.insert("events", "(3, 30, DATE'2024-03-03')")
    run(place, "prod", select=["log"])

    assert states(place, "dev")["totals"] == "upstream_changed"
    run(place, "dev", select=["totals+"], defer_to="prod")
    assert rows(place, "mine", "dev_m/report") == [(61,)]


@pytest.mark.matrix
def test_clones_are_current_and_go_on_from_where_the_other_target_is(place):
    place.write("penstock.yml", YML.replace("vars: {least: 1}, ", ""))
    run(place, "prod")

    report = cloned(place)

    assert report.succeeded, report.results
    assert set(states(place, "dev").values()) == {"current"}
    assert run(place, "dev").plan.is_empty
    place.insert("events", "(3, 30, DATE'2024-03-03')")
    run(place, "dev")
    assert [row[0] for row in rows(place, "mine", "dev_m/log")] == [1, 2, 3]
    assert rows(place, "mine", "dev_m/report") == [(60,)]
    assert [row[0] for row in rows(place, "theirs", "m/log")] == [1, 2]
    refused = cloned(place, select=["log"])
    assert refused["log"].error.code == "table-exists"
    assert cloned(place, select=["log"], force=True).succeeded
    assert [row[0] for row in rows(place, "mine", "dev_m/log")] == [1, 2]


@pytest.mark.matrix
def test_partitions_and_histories_are_cloned_with_their_records(place):
    day = "select seen as day, sum(amount) n from {{ ref('log') }} where seen >= @start_date "
    day += "and seen < @end_date group by 1"
    place.model("daily", day, materialized="partition", partition_by="day", start="2024-03-01")
    place.model(
        "kept",
        "select id, amount, seen from {{ ref('log') }}",
        materialized="snapshot",
        unique_key="id",
        strategy="check",
        check_cols="all",
    )
    run(place, "prod", exclude=["daily kept"])
    penstock.backfill(
        place.root, "daily", from_="2024-03-01", to="2024-03-02", target="prod", spark=place.spark
    )
    penstock.snapshot_run(place.root, target="prod", spark=place.spark)

    report = cloned(place, select=["+daily +kept"])

    assert report.succeeded, [each.error for each in report.results]
    prod, dev = states(place, "prod"), states(place, "dev")
    assert (dev["daily"], dev["kept"]) == (prod["daily"], prod["kept"])
    assert rows(place, "mine", "dev_m/daily") == rows(place, "theirs", "m/daily")
    assert rows(place, "mine", "dev_m/kept") == rows(place, "theirs", "m/kept")


@pytest.mark.matrix
@pytest.mark.parametrize("fault", ["after-begin:2", "after-commit:2", "after-finish:2"])
def test_a_clone_that_is_killed_is_settled_like_any_step(place, fault):
    place.write("penstock.yml", YML.replace("vars: {least: 1}, ", ""))
    run(place, "prod")

    kill_at(fault, place.root, "target", "clone", "prod", "dev", spark=place.spark)
    report = cloned(place)

    assert report.succeeded, report.results
    assert set(states(place, "dev").values()) == {"current"}
    assert rows(place, "mine", "dev_m/report") == [(30,)]


@pytest.mark.matrix
@pytest.mark.parametrize("fault", ["before-commit:1", "before-commit:2", "after-commit:1"])
def test_a_clone_that_is_killed_while_it_replaces_rows_is_told_and_repeated(place, fault):
    place.write("penstock.yml", YML.replace("vars: {least: 1}, ", ""))
    run(place, "prod")
    assert cloned(place).succeeded

    kill_at(fault, place.root, "target", "clone", "prod", "dev", "-s", "log", spark=place.spark)

    penstock.run(place.root, target="dev", spark=place.spark, select=["totals"])
    found = states(place, "dev", select=["log"])["log"]
    assert found != "current" or len(rows(place, "mine", "dev_m/log")) == 2
    assert cloned(place, select=["log"], force=True).succeeded
    assert [row[0] for row in rows(place, "mine", "dev_m/log")] == [1, 2]
    assert states(place, "dev", select=["log"]) == {"log": "current"}


@pytest.mark.matrix
def test_of_a_table_in_another_target_only_the_partitions_that_changed_there_drift_here(place):
    where = "where {0} >= @start_date and {0} < @end_date"
    daily = f"select seen as day, sum(amount) n from {{{{ ref('log') }}}} {where.format('seen')}"
    copied = f"select day, n from {{{{ ref('daily') }}}} {where.format('day')}"
    cut = {"materialized": "partition", "partition_by": "day", "start": "2024-03-01"}
    place.model("daily", f"{daily} group by 1", **cut)
    place.model("copied", copied, **cut)
    ends = {"from_": "2024-03-01", "to": "2024-03-02"}
    run(place, "prod", select=["log"])
    penstock.backfill(place.root, "daily", **ends, target="prod", spark=place.spark)

    report = penstock.backfill(
        place.root, "copied", **ends, target="dev", defer_to="prod", spark=place.spark
    )

    assert report.succeeded, report.results
    assert [d.source.input for d in report.plan.deferred] == ["daily"]
    assert states(place, "dev", select=["copied"], **ends) == {"copied": "current"}
    place.insert("events", "(3, 30, DATE'2024-03-02')")
    run(place, "prod", select=["log"], full_refresh=True)
    penstock.backfill(
        place.root, "daily", from_="2024-03-02", to="2024-03-02", target="prod", spark=place.spark
    )
    (drifted,) = (
        state
        for model in penstock.status(place.root, target="dev", select=["copied"], **ends).models
        for state in model.states
    )
    assert (str(drifted.state), drifted.ranges) == (
        "upstream_changed",
        (("2024-03-02", "2024-03-02"),),
    )
