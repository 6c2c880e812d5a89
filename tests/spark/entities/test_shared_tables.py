"""Entities that share one silver table, each with rows of its own."""

from contextlib import closing

import pytest

from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, T3, T4, EntityPlace
from penstock.app.commands.rollback import rollback
from penstock.app.request import RollbackRequest
from penstock.core.errors import TableError

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

TABLE = {"silver_table": "silver_all.people", "delete_missing": True}


def of(number, process="merge"):
    """Give the entity of one administration, whose number is its scope."""
    own = {"name": "", "newname": "adm", "expression": str(number)}
    columns = [KEY, {**own, "fieldroles": ["partition", "businesskey"]}]
    return entity(number, f"e{number}", process, columns=columns, settings=TABLE)


def rows(place, number):
    uri = place.root / "warehouse" / "silver_all" / "people"
    where = f"adm = {number}"
    flags = "p_IsCurrent, p_deleted" if place.historic else "p_deleted"
    sql = f"SELECT ID, SeqNr, name, {flags} FROM delta.`{uri}` WHERE {where} ORDER BY ALL"
    return place.sql(sql)


@pytest.fixture(params=["merge", "historic"])
def place(request, spark, tmp_path):
    found = EntityPlace(tmp_path, spark, of(950, request.param), of(1000, request.param))
    found.historic = request.param == "historic"
    return found


def test_each_entity_of_a_table_touches_only_its_rows(place):
    both = ("silver_all.people@950", "silver_all.people@1000")
    place.slice("a", (1, 100, "A"), (2, 100, "B"), entity="e950")
    place.slice("a", (1, 100, "C"), (2, 100, "D"), entity="e1000")
    assert [each.status for each in place.at(T1, "kind:entity").results] == ["success", "success"]
    first = {950: rows(place, 950), 1000: rows(place, 1000)}
    assert [row[2] for row in first[950]] == ["A", "B"]
    assert [row[2] for row in first[1000]] == ["C", "D"]
    assert place.states() == {name: [] for name in both}

    place.slice("b", (1, 200, "A2"), (3, 200, "E"), entity="e950")
    (result,) = place.at(T2, both[0]).results
    assert result.metrics["inferred_deleted"] == 1
    assert rows(place, 1000) == first[1000]
    assert place.states() == {name: [] for name in both}
    second = rows(place, 950)

    place.slice("b", (9, 300, "F"), entity="e1000")
    assert [each.status for each in place.at(T3, both[1], full_refresh=True).results] == [
        "success",
        "success",
    ]
    assert rows(place, 950) == second
    assert {row[0] for row in rows(place, 1000)} == {1, 2, 9}
    assert place.states() == {name: [] for name in both}
    assert [each.status for each in place.at(T4, "kind:entity").results] == [
        "unchanged",
        "unchanged",
    ]


def test_an_entity_that_comes_later_finds_the_table_of_the_other(place):
    place.slice("a", (1, 100, "A"), entity="e950")
    place.at(T1, "silver_all.people@950")
    before = rows(place, 950)
    place.slice("a", (1, 100, "C"), entity="e1000")
    assert place.states()["silver_all.people@1000"] == ["never_run"]

    (result,) = place.at(T2, "silver_all.people@1000").results
    assert result.error is None

    assert rows(place, 950) == before
    assert [row[2] for row in rows(place, 1000)] == ["C"]
    services = place.services()
    step = services.reading.records.models()["silver_all.people@950"].step
    request = RollbackRequest(place.root, "silver_all.people@950", to=step)
    with closing(services), pytest.raises(TableError) as caught:
        rollback(services, request, lambda _: True)
    assert caught.value.code == "shared-table"
