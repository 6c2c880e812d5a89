"""Steps 1 and 2 of an entity, as SQL."""

import pytest

from fakes.lake import columns
from fakes.silver_table import KEY, T1, XM, an_entity
from penstock.core.entities.entity import EntityColumn
from penstock.core.entities.transformations import (
    ColumnTransformation,
    Deduplicate,
    Filter,
    Keep,
    Projection,
)
from penstock.core.errors import QueryError, SchemaError
from penstock.core.statement import EXACT_JSON
from penstock.strategies.entities.layers import calculate, inject_transformations, select_slice
from penstock.strategies.entities.rows import SliceRead, SliceRows
from unit.strategies.entities.slices import a_read

GIVEN = "ID int, name string"
ROWS = SliceRows("made", columns(GIVEN), computed=frozenset({"name"}))


def changed(*transformations, entity=None):
    entity = entity or an_entity(transformations=transformations)
    return inject_transformations(ROWS, entity, a_read("seen int"))


def test_of_a_whole_source_perhaps_one_slice_is_read():
    whole = select_slice(XM, a_read(f"{GIVEN}, p_source_filename string"))
    one = select_slice(XM, a_read(f"{GIVEN}, p_source_filename string", only="it's"))

    assert whole.made_sql == "SELECT * FROM `penstock_slice`"
    assert one.made_sql == f"{whole.made_sql} WHERE `p_source_filename` = 'it\\'s'"
    with pytest.raises(SchemaError) as caught:
        select_slice(XM, a_read(GIVEN, only="s"))
    assert caught.value.code == "slice-column-missing"


def test_nothing_is_described_where_nothing_is_transformed():
    assert changed() == ROWS
    assert changed(Filter("ID > 1")).schema == columns("seen int")


@pytest.mark.parametrize(
    ("transformation", "made", "computed"),
    [
        (Filter("ID > 1"), "SELECT * FROM (made)\nWHERE (ID > 1)", {"name"}),
        (
            ColumnTransformation("NAME", "upper(name)"),
            "SELECT `ID`, (upper(name)\n) AS `NAME` FROM (made)",
            {"name"},
        ),
        (
            ColumnTransformation("n", "1"),
            "SELECT `ID`, `name`, (1\n) AS `n` FROM (made)",
            {"name", "n"},
        ),
        (
            Projection(("ID, ID + 1 AS Next", "`name` AS name")),
            "SELECT ID, ID + 1 AS Next\n, `name` AS name\nFROM (made)",
            {"name", "next"},
        ),
    ],
)
def test_a_transformation_is_a_layer_and_what_it_computes_is_known(transformation, made, computed):
    found = changed(transformation)

    assert (found.made_sql, found.computed) == (made, computed)


@pytest.mark.parametrize(("keep", "direction"), [(Keep.FIRST, "ASC"), (Keep.LAST, "DESC")])
def test_one_row_of_each_key_is_kept_and_all_without_one(keep, direction):
    found = changed(Deduplicate(keep, ("at",)))

    assert found.made_sql == (
        "SELECT `ID`, `name` FROM (SELECT *, rank() OVER (PARTITION BY (`ID`) ORDER BY "
        f"(at) {direction}) AS `__penstock_rank`, row_number() OVER (PARTITION BY (`ID`), "
        f"to_json(struct(`ID`, `name`), {EXACT_JSON}) "
        "ORDER BY (`ID`)) AS `__penstock_copy` FROM (made))\n"
        "WHERE (`__penstock_rank` = 1 AND `__penstock_copy` = 1) OR (`ID`) IS NULL"
    )
    assert found.computed == {"id", "name"}


def test_a_later_calculated_column_may_read_an_earlier_one_and_what_is_plain_is_known():
    entity = an_entity(
        columns=(
            KEY,
            EntityColumn("a", expression="ID + 1", reads=("ID",)),
            EntityColumn("b", expression="name", reads=("name",)),
        )
    )

    found = calculate(ROWS, entity, a_read("seen int"))

    assert found.made_sql == (
        "SELECT `ID`, `name`, `a`, (name\n) AS `b` FROM "
        "(SELECT `ID`, `name`, (ID + 1\n) AS `a` FROM (made))"
    )
    assert found.computed == {"name", "b"}
    assert calculate(ROWS, an_entity(), a_read("seen int")) == ROWS


def test_a_calculated_column_that_cannot_be_made_is_named():
    entity = an_entity(
        columns=(KEY, EntityColumn("a", expression="1"), EntityColumn("b", expression="nope"))
    )

    def describe(sql):
        if "nope" in sql:
            raise QueryError("query-failed", "no such column")
        return columns(GIVEN)

    with pytest.raises(QueryError) as caught:
        calculate(ROWS, entity, SliceRead("s", T1, describe))

    assert caught.value.code == "calculated-column-failed"
    assert caught.value.sentence == ("calculated column 'b', nope, cannot be made: no such column")
