"""A state that was lost is made anew from the log: slices, watermarks and high time as before."""

import pytest

from fakes.entity_files import entity
from fakes.entity_place import T1, T2, T3, T4, EntityPlace
from penstock.app.commands.entities import list_slices
from penstock.app.execution.recover import rebuild

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

ON_CHANGE = {"last_seen": "on_change"}


def known(place):
    """Give what is on record of slices, watermarks and times."""
    services = place.services()
    record = services.reading.records.models()["silver_aw.x"]
    slices = list_slices(services, "x").slices
    services.close()
    return slices, record.watermarks, record.high_time


def rebuilt(place):
    """Lose the state, and make it anew."""
    for file in (place.root / ".penstock").glob("state.db*"):
        file.unlink()
    services = place.services()
    rebuild(services)
    services.close()
    return known(place)


def test_slices_without_a_commit_are_told_by_the_next_one(spark, tmp_path):
    place = EntityPlace(tmp_path, spark, entity(settings=ON_CHANGE))
    place.slice("a", (1, 100, "A"))
    place.slice("b", (1, 100, "A"))
    place.slice("c")
    place.slice(
        "d", (1, 900, "gone", True), (2, 900, "never", True), columns="ID, SeqNr, name, p_deleted"
    )
    place.slice("e", (2, 950, "never", True), columns="ID, SeqNr, name, p_deleted")
    place.slice("f", (1, 300, "F"))
    assert place.told(T1) == [
        "a.parquet 1/1/0/0",
        "b.parquet 1/0/1/0",
        "c.parquet 0/0/0/0",
        "d.parquet 2/0/0/2",
        "e.parquet 1/0/0/1",
        "f.parquet 1/0/1/0",
    ]
    before, rows = known(place), place.stored("ID, SeqNr, name, p_lastSeen")

    assert rebuilt(place) == before
    assert [str(each.value) for each in before[1]] == ["INT 950"]
    assert place.at(T2).plan.is_empty
    assert place.stored("ID, SeqNr, name, p_lastSeen") == rows


def test_so_many_that_no_token_has_room_for_them_make_a_commit(spark, tmp_path):
    place = EntityPlace(tmp_path, spark, entity(settings=ON_CHANGE))
    place.slice("a", (1, 100, "A"))
    for number in range(8):
        place.slice(f"b{number}", (1, 100, "A"))
    assert place.told(T1)[1:] == [f"b{number}.parquet 1/0/1/0" for number in range(8)]
    assert place.newest() == 1

    slices, *others = known(place)
    again, *more = rebuilt(place)

    assert others == more
    assert again[:8] == slices[:8]
    assert place.told(T3) == ["b7.parquet 1/0/1/0"]
    assert place.newest() == 1


def test_a_state_that_was_put_back_learns_what_the_log_tells(spark, tmp_path):
    place = EntityPlace(tmp_path, spark, entity(settings=ON_CHANGE))
    place.slice("a", (1, 100, "A"))
    place.at(T1)
    kept = (place.root / ".penstock/state.db").read_bytes()
    place.slice("b", (1, 100, "A", None), columns="ID, SeqNr, name, extra")
    place.slice("c", (1, 100, "A"))
    place.slice("d", (1, 300, "D"))
    place.at(T2)
    before = known(place)
    for file in (place.root / ".penstock").glob("state.db*"):
        file.unlink()
    (place.root / ".penstock/state.db").write_bytes(kept)

    report = place.at(T4)

    assert report.plan.is_empty
    assert known(place) == before
