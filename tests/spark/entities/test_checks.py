"""Checks of entities: what fails a gate is in no table, is flagged, or is taken back; its slice waits."""

import pytest

from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, T3, T4, EntityPlace, counted
from penstock.app.commands.rollback import rollback
from penstock.app.request import RollbackRequest

pytestmark = pytest.mark.spark
NAMED = {"type": "not_null", "column": "name"}
FEW = {"name": "few", "type": "row_count", "max": 4, "scope": "table", "where": "NOT p_deleted"}


@pytest.fixture
def place(spark, tmp_path):
    return EntityPlace(tmp_path, spark)


def checked(on_failure, *after, **said):
    return entity(checks={"on_failure": on_failure, "after": [*after]}, **said)


def left(place):
    return [each.name for each in (place.root / "warehouse" / "penstock_staging").glob("*")]


def test_a_slice_that_fails_a_blocking_gate_leaves_nothing_and_waits(place):
    place.document(checked("block", NAMED, FEW, settings={"delete_missing": True}))
    place.slice("a", (1, 100, "A"), (2, 100, "B"), (3, 100, "C"))
    place.slice("b", (1, 200, "A2"), (4, 200, None))
    place.slice("c", (4, 300, "D"))
    report = place.at(T1)
    assert [each.status for each in report.results] == ["success", "failed", "skipped"]
    assert "not_null_name" in str(report.results[1].invariant_report)
    assert (place.newest(), place.stored("ID, p_deleted")) == (
        0,
        [(1, False), (2, False), (3, False)],
    )
    assert place.states() == {"silver_aw.x": ["failed"]}

    place.slice("b", (1, 200, "A2"), (4, 200, "D"))
    assert place.told(T2) == ["b.parquet 2/1/1/0 x2", "c.parquet 1/0/1/0 x1"]
    assert place.stored("ID, name, p_deleted") == [
        (1, "A2", True),
        (2, "B", True),
        (3, "C", True),
        (4, "D", False),
    ]
    place.slice("d", *((number, 400, "N") for number in range(5, 10)))
    before = place.newest()
    (result,) = place.at(T3).results
    assert (result.error and result.error.code, result.status) == ("after-check-failed", "failed")
    assert place.newest() == before
    print(left(place), result.consequence)


def test_a_history_is_held_back_too(place):
    place.document(
        checked("block", NAMED, FEW, process="historic", settings={"delete_missing": True})
    )
    place.slice("a", (1, 100, "A"), (2, 100, "B"), (3, 100, "C"))
    place.slice("b", (1, 200, "A2"), (4, 200, None))
    assert [each.status for each in place.at(T1).results] == ["success", "failed"]
    assert place.newest() == 0
    place.slice("b", (1, 200, "A2"), (4, 200, "D"))
    assert place.told(T2) == ["b.parquet 2/1/1/2 =0 x2"]


@pytest.mark.parametrize("by", [[], [{"name": "region", "fieldroles": ["partition"]}]])
def test_full(place, by):
    place.document(checked("block", NAMED, FEW, process="full", columns=[KEY, *by]))
    columns = "ID, region, name"
    place.slice("a", (1, "EU", "A"), (2, "US", "B"), columns=columns)
    place.slice("b", (1, "EU", None), columns=columns)
    assert [each.status for each in place.at(T1).results] == ["success", "failed"]
    assert place.newest() == 0
    place.slice("b", (1, "EU", "A2"), columns=columns)
    assert place.told(T2) == ["b.parquet 1/1/0/0"]
    assert place.stored(columns) == [(1, "EU", "A2"), *[(2, "US", "B")] * bool(by)]


@pytest.mark.parametrize("mode", ["flag", "rollback"])
def test_flag_and_rollback(place, mode):
    place.document(checked(mode, NAMED))
    place.slice("a", (1, 100, "A"))
    place.slice("b", (1, 200, None))
    place.slice("c", (3, 300, "C"))
    report = place.at(T1)
    assert [each.status for each in report.results] == ["success", "failed", "skipped"]
    print(
        place.stored("ID, SeqNr, name"),
        place.states(),
        place.newest(),
        report.results[1].consequence,
    )
    print(place.told(T2), place.states(), place.stored())


def test_rollback_of_a_step(place):
    place.document(entity())
    place.slice("a", (1, 100, "A"))
    place.slice("b", (1, 200, "B"))
    report = place.at(T1)
    services = place.services()
    try:
        back = rollback(
            services, RollbackRequest(place.root, "silver_aw.x", to=report.results[1].step)
        )
    finally:
        services.close()
    print(back, place.stored(), place.states())
    place.slice("c", (3, 300, "C"))
    print(place.told(T2))
