"""Steps beside each other, and what they cost."""

import json
import threading
from pathlib import Path

import pytest

import penstock

STEPS = 40


def test_two_functions_meet_and_have_views_of_their_own(place):
    barrier = threading.Barrier(2, timeout=60)

    def rows(spark, count):
        spark.range(count).createOrReplaceTempView("tmp")
        barrier.wait()
        return spark.table("tmp")

    @place.app.table
    def one(spark):
        return rows(spark, 1)

    @place.app.table
    def two(spark):
        return rows(spark, 2)

    report = place.app.run()

    assert [report[name].status for name in ("one", "two")] == ["success", "success"]
    assert (place.ids("one"), place.ids("two")) == ([0], [0, 1])
    assert not place.spark.catalog.tableExists("tmp")


@pytest.mark.matrix
def test_each_of_many_commits_carries_the_id_of_its_own_step(place):
    app = penstock.conf(root=place.root, spark=place.spark, threads=8)
    for number in range(STEPS):

        @app.table(name=f"t{number}")
        def made(spark, number=number):
            return spark.range(number, number + 1)

    report = app.run()

    tokens = {}
    for name in report:
        (log,) = Path(place.uri(name), "_delta_log").glob("*.json")
        (info,) = (
            line["commitInfo"]
            for line in map(json.loads, log.read_text().splitlines())
            if "commitInfo" in line
        )
        tokens[name] = json.loads(info["userMetadata"])["step"]
    assert tokens == {name: result.step for name, result in report.items()}
    assert len(set(tokens.values())) == STEPS
    assert [place.ids(f"t{number}") for number in (0, 17, 39)] == [[0], [17], [39]]


@pytest.mark.matrix
def test_only_aggregates_reach_the_driver_and_only_files_with_new_rows_are_read(place, monkeypatch):
    from pyspark.sql.classic.dataframe import DataFrame

    place.source()
    for number in range(30):
        place.append(f"({number}, '2025-01-15T10:{number:02}:00Z', 'a', {number})")

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.select("id", "ts")

    place.app.run()
    *older, _ = sorted(Path(place.path).glob("*.parquet"), key=lambda each: each.stat().st_mtime_ns)
    for file in older:  # statistics round instants up, so the one at the watermark is looked at
        file.unlink()  # whoever reads one of these now fails
    place.append(5, 6)
    collect, taken = DataFrame.collect, []

    def counted(frame):
        rows = collect(frame)
        taken.append(len(rows))
        return rows

    monkeypatch.setattr(DataFrame, "collect", counted)
    for name in ("toPandas", "count", "show", "toLocalIterator", "take"):
        monkeypatch.delattr(DataFrame, name)
    report = place.app.run()
    monkeypatch.undo()

    assert report["events"].rows.inserted == 2
    assert report["events"].rows.late == 0
    assert taken == [1]
