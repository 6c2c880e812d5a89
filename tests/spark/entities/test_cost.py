"""What a slice costs: statements that read rows, files that they read, and nothing left behind."""

import pytest

from fakes.entity_files import entity
from fakes.entity_place import T1 as FIRST
from fakes.entity_place import T2 as SECOND
from fakes.entity_place import T3 as THIRD
from fakes.entity_place import EntityPlace
from fakes.silver_table import T1, T2, SilverTable, an_entity
from fakes.spark_reads import scans_of, statements_that_read
from penstock.core.entities.entity import LastSeen
from penstock.engine.session import SparkStepSession

pytestmark = pytest.mark.spark

INFERS = {"settings": {"delete_missing": True}}
TWICE = {"column": "Twice", "expression": "ID * 2"}
KEY = {"name": "Twice", "fieldroles": ["businesskey"]}


@pytest.mark.parametrize(
    ("said", "statements"),
    [
        pytest.param({"process": "full"}, 2, marks=pytest.mark.matrix, id="full"),
        pytest.param({}, 2, marks=pytest.mark.matrix, id="merge"),
        pytest.param(INFERS, 2, id="merge that infers"),
        pytest.param({"process": "historic"}, 3, marks=pytest.mark.matrix, id="historic"),
    ],
)
def test_a_slice_is_read_by_few_statements(spark, tmp_path, said, statements):
    place = EntityPlace(tmp_path, spark, entity(**said))

    place.slice("a", (1, 100, "A"), (2, 100, "B"))
    assert statements_that_read(spark, lambda: place.at(FIRST)) == 2

    place.slice("b", (1, 200, "A2"), (3, 200, "C"))
    assert statements_that_read(spark, lambda: place.at(SECOND)) == statements

    place.slice("c", (1, 300, "A3"), (1, 300, "A3"))
    statistics, samples = 1, 1
    assert statements_that_read(spark, lambda: place.at(THIRD)) == statistics + samples
    assert place.newest() == 1


def test_a_failure_leaves_nothing_persisted(spark, tmp_path, monkeypatch):
    place = EntityPlace(tmp_path, spark, entity(transformations=[TWICE], columns=[KEY]))
    place.slice("a", (1, 100, "A"))
    kept = spark._jsparkSession.sharedState().cacheManager()
    stage, seen = SparkStepSession.stage, []

    def replaced_meanwhile(session, of):
        found = stage(session, of)
        seen.append(kept.isEmpty())
        place.slice("a", (1, 100, "A"), (2, 100, "B"))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(SparkStepSession, "stage", replaced_meanwhile)
        told = place.told(FIRST)

    assert (seen, told) == ([False], ["a.parquet slice-changed-during-run"])
    assert kept.isEmpty()
    assert not (place.silver() / "_delta_log").exists()
    assert place.told(SECOND) == ["a.parquet 2/2/0/0"]
    assert kept.isEmpty()


@pytest.mark.matrix
@pytest.mark.parametrize("last_seen", list(LastSeen))
def test_files_without_keys_of_the_slice_are_not_read(spark, tmp_path, last_seen, monkeypatch):
    monkeypatch.setattr("penstock.engine.reading._SMALL", 0)  # small ones are read as a whole
    table = SilverTable(spark, tmp_path, an_entity(last_seen=last_seen))
    rows = "CAST(id AS INT) AS ID, {salt} AS SeqNr, 'name' AS name"
    of_a_thousand = {"spark.sql.files.maxRecordsPerFile": "1000"}
    every = f"SELECT {rows.format(salt=1)} FROM range(0, 10000, 1, 1)"
    table.run_sql(T1, every, confs=of_a_thousand)
    files = len(list((tmp_path / "x").glob("*.parquet")))
    last = f"SELECT {rows.format(salt=2)} FROM range(9000, 10000, 1, 1)"

    scans = scans_of(spark, lambda: table.run_sql(T2, last))

    assert files == 10
    read = [scan.files for scan in scans if scan.is_target]
    assert read
    assert set(read) == {1}
