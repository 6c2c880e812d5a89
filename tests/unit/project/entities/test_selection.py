"""Entities are found by id, name, group and connection."""

import pytest

from fakes.entity_files import CONNECTION, entity, files
from penstock.core.errors import (
    ConnectionNotFoundError,
    EntityNotFoundError,
    SelectorError,
    UsageError,
)
from penstock.project.entities.selection import (
    entities_by_id,
    entities_of_connection,
    entities_of_connection_group,
    entities_of_group,
    entity_by_id,
    select_entities,
)
from penstock.project.selectors import Known, select


@pytest.fixture
def lake(load):
    off = {"name": "off", "enabled": False}
    said = (
        entity(1, "a", group="avw", tags=["daily"]),
        entity(2, "b", connectiongroup="Night"),
        entity(3, "c", process="full"),
        {**entity(4, "d"), "connection": "off"},
    )
    readers = {
        "models/m.sql": "select * from silver_aw.a",
        "models/n.sql": "select * from {{ ref('m') }}",
    }
    return load({**files(*said, connections=[CONNECTION, off]), **readers})


@pytest.fixture
def entities(lake):
    return lake.entities


def names(found):
    return [each.name for each in found]


def test_an_id_is_found_or_an_error(entities):
    assert entity_by_id(entities, 1).name == "a"
    with pytest.raises(EntityNotFoundError, match="no entity has the id 9999") as caught:
        entity_by_id(entities, 9999)
    assert caught.value.hint == "there are: 1, 2, 3, 4"


def test_ids_are_found_in_their_order_without_unknown_ones(entities):
    assert names(entities_by_id(entities, [1, 2, 9999])) == ["a", "b"]
    assert names(entities_by_id(entities, [3, 1, 2])) == ["c", "a", "b"]


def test_letters_of_a_group_do_not_count(entities):
    assert names(entities_of_group(entities, "AVW")) == ["a"]
    assert names(select_entities(entities, ["group:AVW"])) == ["a"]
    assert names(entities_of_connection_group(entities, "NIGHT")) == ["b"]


def test_an_entity_of_a_disabled_connection_is_disabled(entities):
    assert entities["silver_off.d"].enabled is False
    for named in ("entity:4", "entity:d", "silver_off.d", "d"):
        with pytest.raises(UsageError, match=r"silver_off\.d is disabled") as caught:
            select_entities(entities, [named])
        assert (caught.value.code, caught.value.exit_code) == ("entity-disabled", 2)


def test_a_selection_takes_enabled_entities_in_the_order_of_the_files(entities):
    assert names(select_entities(entities, [])) == ["a", "b", "c"]
    assert names(select_entities(entities, ["kind:entity"])) == ["a", "b", "c"]
    assert names(select_entities(entities, ["c entity:1"])) == ["a", "c"]
    assert names(select_entities(entities, ["connection:AW,strategy:full"])) == ["c"]
    assert names(select_entities(entities, ["tag:daily connectiongroup:night"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "code"),
    [("entity:nine", "no-match"), ("colour:red", "bad-selector"), ("a,b", "empty-selection")],
)
def test_what_selects_nothing_is_an_error(entities, value, code):
    with pytest.raises(SelectorError) as caught:
        select_entities(entities, [value])
    assert caught.value.code == code


def test_entities_of_a_connection(entities):
    assert names(entities_of_connection(entities, "aw")) == ["a", "b", "c"]
    with pytest.raises(ConnectionNotFoundError) as caught:
        entities_of_connection(entities, "aws")
    assert caught.value.hint == "did you mean 'aw'?"


@pytest.mark.parametrize(
    ("value", "models"),
    [
        ("silver_aw.a", ["silver_aw.a"]),
        ("Silver_AW.A+", ["m", "n", "silver_aw.a"]),
        ("silver_aw.a+1", ["m", "silver_aw.a"]),
        ("+n", ["m", "n", "silver_aw.a"]),
        ("1+m", ["m", "silver_aw.a"]),
        ("@silver_aw.a", ["m", "n", "silver_aw.a"]),
        ("name:silver_aw.*", ["silver_aw.a", "silver_aw.b", "silver_aw.c"]),
        ("entity:2", ["silver_aw.b"]),
        ("entity:C", ["silver_aw.c"]),
        ("entity:1+", ["m", "n", "silver_aw.a"]),
        ("group:AVW", ["silver_aw.a"]),
        ("connection:aw", ["silver_aw.a", "silver_aw.b", "silver_aw.c"]),
        ("connectiongroup:night", ["silver_aw.b"]),
        ("kind:entity,strategy:full", ["silver_aw.c"]),
        ("kind:sql", ["m", "n"]),
        ("config.destination:b", ["silver_aw.b"]),
        ("tag:daily", ["silver_aw.a"]),
        ("path:entities", ["silver_aw.a", "silver_aw.b", "silver_aw.c"]),
    ],
)
def test_models_are_selected_by_what_entities_say(lake, value, models):
    assert sorted(select(lake, [value], [], Known())) == models


def test_naming_a_disabled_entity_is_an_error_everywhere(lake):
    for named in ("silver_off.d", "+silver_off.d", "name:Silver_Off.D", "entity:4", "entity:d"):
        with pytest.raises(UsageError, match=r"silver_off\.d is disabled") as caught:
            select(lake, [named], [], Known())
        assert (caught.value.code, caught.value.exit_code) == ("entity-disabled", 2)
    assert "silver_off.d" not in select(lake, ["connection:*"], [], Known())


def test_entities_of_one_table_are_selected_by_their_ids(load):
    columns = [{"name": "adm", "fieldroles": ["businesskey", "partition"]}]
    both = [
        entity(n, f"x{n}", columns=[{**columns[0], "expression": str(n)}], watermark=[])
        for n in (1, 2)
    ]
    shared = load(files(*({**each, "settings": {"silver_table": "s.x"}} for each in both)))

    assert select(shared, ["s.x@2"], [], Known()) == ("s.x@2",)
    assert sorted(select(shared, ["s.x"], [], Known())) == ["s.x@1", "s.x@2"]
