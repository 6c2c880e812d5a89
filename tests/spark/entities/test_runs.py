"""Entities run as projects: slices wait, run in order, fail, are run again, and are told of."""

import json
import os
import shutil

import pytest

from fakes.entity_files import entity
from fakes.entity_place import T1, T2, T3, T4, EntityPlace, counted
from penstock.core.errors import UsageError

pytestmark = pytest.mark.spark


@pytest.fixture
def place(spark, tmp_path):
    return EntityPlace(tmp_path, spark, entity())


def test_slices_run_in_order_each_once(place):
    for name in ("b", "a", "c"):
        place.slice(name, (1, ord(name), name))

    assert place.told("2025-05-05T12:00:00+02:00") == [
        "a.parquet 1/1/0/0",
        "b.parquet 1/0/1/0",
        "c.parquet 1/0/1/0",
    ]
    seen = "2025-05-05 10:00:00.000002"
    assert place.stored("ID, name, p_lastSeen, p_source_filename") == [(1, "c", seen, "c.parquet")]
    assert [each.status for each in place.at(T2).results] == ["unchanged"]
    assert place.newest() == 2

    place.slice("d", (2, 1, "d"))
    place.slice("aa", (2, 0, "aa"))
    report = place.at("2025-05-05T12:01:00")
    assert [each.slice for each in report.results] == ["aa.parquet", "d.parquet"]
    assert any("slice-out-of-order" in note for note in report.notes)
    assert place.states() == {"silver_aw.x": []}

    token = place.summary()
    assert token["slice"][0] == "d.parquet"
    assert token["run_timestamp"] == "2025-05-05T10:01:00.000001+00:00"
    assert token["metrics"] == {"recordsInSlice": 1, "arrived_deleted": 0}


@pytest.mark.matrix
def test_a_bad_slice_stops_those_after_it_until_it_is_mended(place):
    place.slice("a", (1, 100, "A"))
    place.slice("b", (1, 100, "A"), (1, 200, "B"))
    place.slice("c", (3, 300, "C"))
    report = place.at(T1)
    assert [each.status for each in report.results] == ["success", "failed", "skipped"]
    assert report.results[1].error.code == "duplicate-keys"
    assert "b.parquet" in report.results[1].error.sentence
    assert report.resume
    assert place.stored() == [(1, 100, "A")]
    assert place.states() == {"silver_aw.x": ["failed"]}

    place.slice("b", (2, 200, "B"))
    assert place.told(T2) == ["b.parquet 1/1/0/0", "c.parquet 1/1/0/0"]

    place.slice("a", (1, 400, "A2"), (4, 400, "D"))
    assert place.states() == {"silver_aw.x": ["source_changed"]}
    assert place.at(T3).results[0].status == "unchanged"
    assert place.told(T3, slice="a") == ["a.parquet 2/1/1/0"]
    assert place.stored() == [(1, 400, "A2"), (2, 200, "B"), (3, 300, "C"), (4, 400, "D")]


@pytest.mark.matrix
def test_a_slice_that_is_still_written_holds_up_what_comes_after(place):
    place.slice("a", (1, 100, "A"))
    place.slice("b.parquet/part-0.parquet", (2, 200, "B"))
    place.slice("c", (3, 300, "C"))
    (place.bronze() / "b.parquet" / "_temporary").mkdir()
    report = place.at(T1)
    assert [each.slice for each in report.results] == ["a.parquet"]
    assert report.succeeded
    assert any("slice-incomplete" in note for note in report.notes)

    (place.bronze() / "b.parquet" / "_temporary").rmdir()
    assert place.told(T2) == ["b.parquet 1/1/0/0", "c.parquet 1/1/0/0"]
    (result,) = place.at(T3, slice="nope").results
    assert result.error.code == "slice-not-found"


@pytest.mark.matrix
def test_a_time_before_what_was_seen_is_refused(place):
    place.slice("a", (1, 100, "A"))
    place.at(T2)
    place.slice("b", (1, 200, "B"))
    assert place.told(T1) == ["run-time-before-history"]
    assert place.told(T1, allow_backdated=True) == ["b.parquet 1/0/1/0"]
    assert place.stored("name, p_lastSeen") == [("B", "T2")]


@pytest.mark.matrix
def test_a_table_that_is_gone_is_made_of_all_its_slices(place):
    place.slice("a", (1, 100, "A"))
    place.slice("b", (2, 200, "B"))
    place.at(T1)
    before = place.stored("ID, SeqNr, name, p_SourceHash")
    place.folders_gone()
    assert place.states() == {"silver_aw.x": ["missing"]}
    assert place.told(T2) == ["a.parquet 1/1/0/0", "b.parquet 1/1/0/0"]
    assert place.stored("ID, SeqNr, name, p_SourceHash") == before

    place.folders_gone()
    (place.bronze() / "a.parquet").unlink()
    assert place.told(T3) == ["missing-slices"]


@pytest.mark.matrix
def test_settings_of_a_table_and_forced_strategies(place):
    place.slice("a", (1, 100, "A"))
    place.at(T1)
    place.document(entity(settings={"hash": "xxhash64"}))
    place.slice("b", (2, 200, "B"))
    (result,) = place.at(T2).results
    assert result.error.code == "entity-settings-changed"
    assert "'sha256'" in result.error.sentence
    assert "'xxhash64'" in result.error.sentence
    assert place.newest() == 0

    place.document(entity())
    with pytest.raises(UsageError) as caught:
        place.at(T2, strategy="historic")
    assert caught.value.code == "strategy-mismatch"
    assert place.told(T2, strategy="full") == ["b.parquet 1/1/0/0"]
    assert place.stored() == [(2, 200, "B")]


@pytest.mark.matrix
def test_full_refresh_makes_the_table_of_what_lies_there(place):
    place.slice("a", (1, 100, "A"))
    place.slice("b", (2, 200, "B"))
    place.at(T1)
    (place.bronze() / "a.parquet").unlink()
    place.slice("c", (3, 50, "C"))
    assert place.told(T2, full_refresh=True) == ["b.parquet 1/1/0/0", "c.parquet 1/1/0/0"]
    assert place.stored() == [(2, 200, "B"), (3, 50, "C")]
    assert place.summary()["watermark"] == {"bronze.SeqNr": {"type": "INT", "value": "200"}}
    assert place.at(T3).results[0].status == "unchanged"


@pytest.mark.matrix
def test_a_history_is_told_by_its_processing_times(spark, tmp_path):
    place = EntityPlace(tmp_path, spark, entity(process="historic"))
    place.slice("a", (1, 100, "A"), (2, 100, "B"))
    place.slice("b", (1, 200, "A2"), (2, 100, "B"))
    assert place.told("2025-05-05T12:00:00", slice="a", strategy="full") == ["a.parquet 2/2/0/0"]
    assert place.told("2025-05-05T12:01:00") == ["b.parquet 2/0/1/0 =1"]
    assert place.stored("ID, name, p_ValidFrom, p_ValidTo, p_IsCurrent") == [
        (1, "A", "T1", "T2", False),
        (1, "A2", "T2", None, True),
        (2, "B", "T1", None, True),
    ]
    place.slice("c", (1, 300, "A3"))
    assert place.told(T3, strategy="full", slice="c") == ["history-would-be-lost"]
    place.folders_gone()
    assert place.told(T4) == ["history-missing"]


def test_the_summary_is_told_whatever_the_log_level(place):
    place.document(entity(), environment={"log_level": "OFF"})
    place.slice("a", (1, 100, "John"), (2, 200, "Jane"))
    place.at(T1)
    place.slice("b", (1, 150, "John2"), (2, 200, "Jane"), (3, 300, "Bob"))
    report = place.at(T2)
    assert [counted(each) for each in report.results] == ["b.parquet 3/1/2/0"]
    results = json.loads((place.root / ".penstock/target/run_results.json").read_text())
    response = results["results"][0]["adapter_response"]
    counts = ("recordsInSlice", "inserted", "updated", "deleted", "unchanged", "touched")
    assert [response[name] for name in counts] == [3, 1, 2, 0, 0, 0]
    assert response["processing_time"] == "2025-05-05T10:01:00.000000Z"
    assert response["watermark"] == {"SeqNr": "INT 300"}
    log = (place.root / f".penstock/logs/{report.run_id}.log").read_text().splitlines()
    line = json.loads(next(each for each in log if "entity.summary" in each))
    assert (line["slice_file"], line["strategy"], line["run"]) == (
        "b.parquet",
        "merge",
        report.run_id,
    )
    services = place.services()
    try:
        kept = services.reading.slices.recorded("silver_aw.x")[1].metrics
    finally:
        services.close()
    assert [kept[name] for name in counts] == [3, 1, 2, 0, 0, 0]


@pytest.mark.matrix
def test_a_copied_project_is_current_and_its_slices_keep_their_order(spark, tmp_path):
    here = EntityPlace(tmp_path / "here", spark, entity(settings={"order": "modified"}))
    for age, name in ((1, "b"), (2, "a")):
        os.utime(here.slice(name, (1, age, name)), (1_700_000_000 + age,) * 2)
    told = here.told(T1)
    copy = tmp_path / "elsewhere" / "there"
    shutil.copytree(here.root, copy, copy_function=shutil.copyfile)
    for age, path in enumerate(sorted(copy.rglob("*"))):
        os.utime(path, (1_600_000_000 + age,) * 2)
    shutil.rmtree(here.root)
    there = EntityPlace(copy, spark, entity(settings={"order": "modified"}))

    states, report = there.states(), there.at(T2)

    assert told == ["b.parquet 1/1/0/0", "a.parquet 1/0/1/0"]
    assert states == {"silver_aw.x": []}
    assert ([each.status for each in report.results], report.notes) == (["unchanged"], ())
    assert there.told(T3, full_refresh=True) == ["b.parquet 1/1/0/0", "a.parquet 1/0/1/0"]
    assert there.stored() == [(1, 2, "a")]
