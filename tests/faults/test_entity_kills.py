"""Kill -9 at any point of a slice, run again: rows, slices, watermarks, counts as undisturbed."""

import shutil
import signal
import threading
from pathlib import Path

import pytest

from fakes.built_once import built_once
from fakes.command import Command, kill_at
from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, T3, T4, EntityPlace, counted
from fakes.faulted import POINTS
from fakes.kill_project import PROJECT
from penstock.app.commands.entities import list_slices

NAME = {"name": "name", "fieldroles": ["partition"]}
INFERS = {"settings": {"delete_missing": True}}
ON_CHANGE = {"settings": {"delete_missing": True, "last_seen": "on_change"}}
ENTITIES = {
    "full": entity(1, "full", "full", columns=[KEY, NAME]),
    "whole": entity(2, "whole", "full"),
    "merge": entity(3, "merge", **INFERS),
    "onchange": entity(4, "onchange", **ON_CHANGE),
    "historic": entity(5, "historic", "historic", **INFERS),
}
ROWS = [(1, 100, "a"), (2, 100, "a"), (3, 100, "b"), (4, 200, "c")]
NEXT = [(1, 150, "a"), (3, 100, "b"), (4, 210, "c"), (5, 220, "d")]
LAST = [*ROWS, (9, 300, "z")]
COMMITTED = ("after-commit", "during-finish", "after-finish")
STAGED = ("onchange", "historic")
CELLS = [
    (name, point)
    for name in ENTITIES
    for point in POINTS
    if point != "during-staging" or name in STAGED
]


@pytest.fixture
def loaded(tmp_path_factory, spark, request):
    """One entity after its first slice, with a second one waiting: `undisturbed` has run three."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    name = params.get("name", "merge")

    def build(folder):
        place = EntityPlace(folder / "loaded", spark, ENTITIES[name])
        place.write("penstock.yml", PROJECT)
        place.slice("a", *ROWS, entity=name)
        assert place.at(T1, "kind:entity").succeeded
        place.slice("b", *NEXT, entity=name)
        shutil.copytree(folder / "loaded", folder / "undisturbed")
        undisturbed = EntityPlace(folder / "undisturbed", spark, ENTITIES[name])
        undisturbed.slice("c", *LAST, entity=name)
        assert undisturbed.at(T2, "kind:entity").succeeded

    return built_once(tmp_path_factory, f"loaded-{name}", build), ENTITIES[name]


@pytest.fixture
def place(loaded, spark, tmp_path):
    folder, said = loaded
    shutil.copytree(folder / "loaded", tmp_path / "lake")
    place = EntityPlace(tmp_path / "lake", spark, said)
    place.write("penstock.yml", PROJECT)
    return place


def left(place, name):
    """Give all that anybody may ask of an entity; nothing may be open, or held."""
    versions = ", p_ValidFrom, p_ValidTo, p_IsCurrent" if name == "historic" else ""
    columns = f"ID, SeqNr, name, p_SourceHash, p_deleted, p_lastSeen, p_source_filename{versions}"
    services = place.services()
    record = services.reading.records.models()[f"silver_aw.{name}"]
    slices = [
        (each.id.name, each.status, each.moment, each.metrics)
        for each in list_slices(services, name).slices
    ]
    store = services.writing
    assert (store.leases.taken(), store.journal.running()) == ((), ())
    services.close()
    watermarks = [(each.key, str(each.value)) for each in record.watermarks]
    rows = place.stored(columns, entity=name)
    return rows, slices, watermarks, record.status, record.high_time, place.newest(name)


def kill(place, point, name, *words):
    asked = ("run", "--select", f"silver_aw.{name}", "--processing-time", T2, *words)
    kill_at(f"{point}:1", place.root, *asked, spark=place.spark)


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "point"), CELLS)
def test_a_killed_slice_ends_as_undisturbed(place, loaded, name, point):
    """The same command once more goes on where the time that it gives was left."""
    folder, said = loaded
    undisturbed = EntityPlace(folder / "undisturbed", place.spark, said)
    place.slice("c", *LAST, entity=name)
    kill(place, point, name)

    report = place.at(T2, f"silver_aw.{name}")

    ran = [each.slice for each in report.results if each.status == "success"]
    assert ran == ["b.parquet", "c.parquet"][point in COMMITTED :]
    assert left(place, name) == left(undisturbed, name)
    assert place.at(T2, f"silver_aw.{name}").plan.is_empty


@pytest.mark.matrix
@pytest.mark.parametrize("point", ["after-finish", "begun-alter", "after-begin"])
def test_a_table_that_was_only_made_ready_has_not_taken_its_slice(place, point):
    """The first point of its kind is that of the step that lets columns be widened."""
    place.slice("b", (1, 5_000_000_000, "A"), entity="merge", types={"SeqNr": "int64"})
    kill(place, point, "merge")

    report = place.at(T2, "silver_aw.merge")

    assert [counted(each) for each in report.results] == ["b.parquet 1/0/1/0 x1"]
    assert (1, 5_000_000_000, "A") in place.stored(entity="merge")


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["whole", "merge"])
@pytest.mark.parametrize("point", [point for point in POINTS if point != "during-staging"])
def test_a_full_refresh_that_was_killed_happens_wholly_or_not_at_all(place, name, point):
    place.at(T2, f"silver_aw.{name}")
    before = place.stored(entity=name)
    kill(place, point, name, "--full-refresh", "--yes")

    found = place.at(T2, f"silver_aw.{name}")

    ran = [each.slice for each in found.results if each.slice]
    assert ran == (["b.parquet"] if point in COMMITTED else [])
    assert any("its last step failed (crashed)" in note for note in found.notes) != bool(ran)
    assert place.stored(entity=name) == before


@pytest.mark.matrix
def test_of_two_runs_of_a_slice_one_names_the_other_or_waits(place):
    text = (place.root / "penstock.yml").read_text()
    place.write("penstock.yml", text.replace("length: 4s", "length: 60s"))
    words = ("run", "--select", "silver_aw.merge", "--slice", "b", "--processing-time", T2)
    first = Command(place.root, *words, spark=place.spark, fault="stop:before-commit:1")
    first.wait_until_stopped()

    (refused,) = place.at(T2, "silver_aw.merge", slice="b").results
    threading.Timer(1, first.send, (signal.SIGCONT,)).start()
    (waited,) = place.at(T2, "silver_aw.merge", slice="b", wait=60).results

    code, output = first.ended()
    assert code == 0, output
    assert refused.error.code == "lease-held"
    assert f"pid {first.pid}" in refused.error.sentence
    assert counted(waited) == "b.parquet 4/0/4/0"


@pytest.mark.matrix
@pytest.mark.parametrize("anew", [False, True])
def test_a_run_that_waited_for_another_takes_each_slice_in_its_turn(place, anew):
    text = (place.root / "penstock.yml").read_text()
    place.write("penstock.yml", text.replace("length: 4s", "length: 60s"))
    place.slice("c", (1, 300, "C"), entity="merge")
    words = ("run", "--select", "silver_aw.merge", "--processing-time", T2)
    first = Command(place.root, *words, spark=place.spark, fault="stop:before-commit:1")
    first.wait_until_stopped()

    threading.Timer(3, first.send, (signal.SIGCONT,)).start()
    report = place.at(T3, "silver_aw.merge", wait=60, full_refresh=anew)

    code, output = first.ended()
    assert code == 0, output
    assert [each.slice for each in report.results] == [
        *["a.parquet"] * anew,
        "b.parquet",
        "c.parquet",
    ]
    wanted = "success" if anew else "unchanged"
    assert {each.status for each in report.results} == {wanted}
    assert (1, 300, "C") in place.stored(entity="merge")
    assert place.at(T4, "silver_aw.merge").plan.is_empty


BAD = {
    "columns": [
        {"name": "ID", "datatype": "int", "fieldroles": ["businesskey"]},
        {"name": "SeqNr", "datatype": "int"},
        {"name": "name", "datatype": "string"},
    ],
    "settings": {
        "bronze_format": "csv",
        "options": {"header": True},
        "bad_records": "quarantine",
        "rescued": "rest",
    },
}
BAD_POINTS = ("after-begin", "after-evaluating", "after-checks", "before-commit", *COMMITTED)


@pytest.fixture
def left_out(tmp_path_factory, spark, tmp_path):
    """An entity after a slice with a bad record, with a second one waiting."""

    def slices(place, *names):
        place.bronze("merge").mkdir(parents=True, exist_ok=True)
        for name in names:
            text = f"ID,SeqNr,name\n1,1,{name}\n2,y,{name}\n3\n"
            (place.bronze("merge") / f"{name}.csv").write_text(text)

    def build(folder):
        place = EntityPlace(folder, spark, entity(3, "merge", **BAD))
        place.write("penstock.yml", PROJECT)
        slices(place, "a")
        assert place.at(T1, "kind:entity").succeeded

    folder = built_once(tmp_path_factory, "left-out", build)
    shutil.copytree(folder, tmp_path / "lake")
    place = EntityPlace(tmp_path / "lake", spark, entity(3, "merge", **BAD))
    place.write("penstock.yml", PROJECT)
    slices(place, "b")
    return place


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(each, marks=() if each == "after-checks" else pytest.mark.matrix)
        for each in BAD_POINTS
    ],
)
def test_bad_records_of_a_killed_slice_are_neither_lost_nor_doubled(left_out, point):
    place = left_out
    kill(place, point, "merge")

    report = place.at(T2, "silver_aw.merge")

    assert report.succeeded
    services = place.services()
    kept = services.reading.checks.quarantines()
    services.close()
    rows = [tuple(r) for q in kept for r in place.sql(f"SELECT * FROM delta.`{q.uri}` ORDER BY 1")]
    assert sorted(rows) == [(f"{n}.csv", "it cannot be read", "3") for n in ("a", "b")]
    staged = {each.name for q in kept for each in Path(q.uri).parent.iterdir()}
    assert staged == {Path(each.uri).name for each in kept}
    rescued = '{"SeqNr":"y"}'
    columns = "ID, SeqNr, name, rest"
    assert place.stored(columns, entity="merge") == [(1, 1, "b", None), (2, None, "b", rescued)]
