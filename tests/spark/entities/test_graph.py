"""Entities among models: what they read as a whole, who reads them, and runs from a script."""

import shutil

import pytest

import penstock
from fakes import delta_tables
from fakes.entity_files import entity
from fakes.entity_place import T1, T2, T3, EntityPlace
from penstock import (
    Full,
    Historic,
    JsonFolderMetadataSettings,
    Metadata,
    Processing,
    WatermarkValue,
)

pytestmark = pytest.mark.spark
TIME = "processing.time"


@pytest.mark.matrix
def test_whole_sources_and_readers_run_in_one_graph(spark, tmp_path):
    table = entity(1, "t", settings={"bronze_table": "raw.events"})
    folder = entity(2, "f", "full", settings={"bronze_read": "whole"})
    place = EntityPlace(tmp_path, spark, table, folder)
    place.model("both", "select ID from silver_aw.t union all select ID from silver_aw.f")
    source = f"{tmp_path}/warehouse/raw/events"
    delta_tables.create(source, "ID INT, SeqNr INT")
    delta_tables.append(source, "(1, 1), (2, 2), (3, 3)")
    place.slice("one", (10, 1, "A"), entity="f")

    first = place.at(T1, "+both")
    assert [(each.name, each.status) for each in first.results] == [
        ("silver_aw.f", "success"),
        ("silver_aw.t", "success"),
        ("both", "success"),
    ]
    assert place.stored("ID", entity="f") == [(10,)]
    assert [each.status for each in place.at(T1, "+both").results] == ["unchanged"] * 3

    delta_tables.append(source, "(4, 3), (5, 2)")
    place.slice("two", (11, 1, "B"), entity="f")
    assert place.states()["silver_aw.t"] == ["source_changed"]
    second = place.at(T2, "+both")
    assert [each.metrics.get("recordsInSlice") for each in second.results[:2]] == [2, 2]
    assert place.stored("ID", entity="t") == [(1,), (2,), (3,), (4,)]
    assert place.stored("ID", entity="f") == [(10,), (11,)]

    shutil.rmtree(place.bronze("f"))
    delta_tables.create(str(place.bronze("f")), "ID INT, SeqNr INT, name STRING")
    delta_tables.append(str(place.bronze("f")), "(20, 1, 'C')")
    place.at(T3, "silver_aw.f")
    assert place.stored("ID", entity="f") == [(20,)]


def test_a_script_runs_slices_as_the_command_does(spark, tmp_path):
    place = EntityPlace(tmp_path, spark, entity())
    place.slice("a", (1, 100, "A"), (2, 100, "B"))
    place.slice("b", (3, 200, "C"))
    place.slice("c", (4, 300, "D"), (4, 300, "E"))
    metadata = Metadata(JsonFolderMetadataSettings("entities"), project=tmp_path, spark=spark)
    found = metadata.get_entity(1)

    first = Processing(found, "a", {TIME: T1}).process()
    second = Processing(found, "b.parquet", {TIME: T2}).process(Full)

    assert (first.records_in_slice, first.inserted, first.delta_version) == (2, 2, 0)
    assert (first.slice_file, first.strategy, first.entity_id) == ("a.parquet", "merge", 1)
    assert '"recordsInSlice": 2' in first.to_json()
    assert second.watermark == {"SeqNr": "INT 200"}
    assert found.watermark("SeqNr") == WatermarkValue("INT", "200")
    assert place.stored() == [(3, 200, "C")]
    with pytest.raises(penstock.DuplicateKeysError) as caught:
        Processing(found, "c").process()
    assert (caught.value.count, caught.value.samples) == (1, ("ID=4 ×2",))
    with pytest.raises(penstock.ProcessStrategyNotSupportedException):
        Processing(found, "a").process(Historic)
