"""What an entity says of its columns, its place and its table."""

import pytest

from fakes.silver_table import KEY, an_entity
from penstock.core.entities.entity import (
    EntityColumn,
    FieldRole,
    ProcessType,
    RunText,
    Slices,
    SystemNames,
    WatermarkEntry,
    WholeFolder,
    WholeTable,
    normalised,
)
from penstock.core.entities.slices import Ordering, SliceOrder
from penstock.core.entities.transformations import (
    ColumnTransformation,
    Deduplicate,
    Filter,
    Keep,
    Projection,
)
from penstock.core.findings import Location


@pytest.mark.parametrize(
    ("column", "final", "made"),
    [
        (EntityColumn("Order Date"), "OrderDate", "Order Date"),
        (EntityColumn("Order Date", "Day-1"), "Day1", "Order Date"),
        (EntityColumn("", "Total.Sum", expression="a + b"), "TotalSum", "Total.Sum"),
    ],
)
def test_a_column_is_renamed_then_normalised(column, final, made):
    assert (column.final_name, column.made_name) == (final, made)
    assert column.is_calculated is bool(column.expression)


def test_a_place_in_a_file_makes_nothing_another_value():
    here, there = Location("a.json", 3), Location("b.json", 7)

    assert an_entity(where=here) == an_entity(where=there)
    for kind, *said in (
        (EntityColumn, "a"),
        (WatermarkEntry, "a"),
        (Projection, ("a",)),
        (ColumnTransformation, "a", "1"),
        (Filter, "true"),
        (Deduplicate, Keep.LAST),
    ):
        assert kind(*said, where=here) == kind(*said, where=there)


def test_signs_that_delta_dislikes_are_left_out_of_a_name():
    assert normalised("a b+c,d-e.f;g{h}i(j)k=l/m") == "abcdefghijkl/m"


@pytest.mark.parametrize(
    ("bronze", "shown"),
    [
        (Slices(RunText("/in/", "${today}")), "/in/${today}, slices *.parquet"),
        (
            Slices(RunText("/in"), "*.csv", Ordering(SliceOrder.NATURAL, is_chosen=True)),
            "/in, slices *.csv, order natural",
        ),
        (
            Slices(RunText("/in"), "*", Ordering(SliceOrder.FROM_NAME, r"(\d+)", is_chosen=True)),
            r"/in, slices *, order from_name (\d+)",
        ),
        (WholeFolder(RunText("/in")), "/in, read whole"),
        (WholeTable(RunText("raw.orders")), "table raw.orders"),
    ],
)
def test_a_bronze_place_says_what_is_read_and_how(bronze, shown):
    assert str(bronze) == shown


def test_columns_are_told_by_their_roles_in_their_order():
    both = frozenset({FieldRole.BUSINESS_KEY, FieldRole.PARTITION})
    columns = (
        EntityColumn("b b", roles=both),
        EntityColumn("c", "d", roles=frozenset({FieldRole.PARTITION})),
        EntityColumn("e"),
        KEY,
    )

    entity = an_entity(columns=columns, destination="my table")

    assert entity.business_keys == ("bb", "ID")
    assert entity.partition_columns == ("bb", "d")
    assert entity.key_column == "PK_mytable"
    assert an_entity(columns=columns[1:3]).key_column == ""


@pytest.mark.parametrize(
    ("process", "delete_missing", "infers"),
    [
        (ProcessType.MERGE, True, True),
        (ProcessType.HISTORIC, True, True),
        (ProcessType.FULL, True, False),
        (ProcessType.MERGE, False, False),
    ],
)
def test_only_a_table_that_is_kept_infers_deletes(process, delete_missing, infers):
    assert an_entity(process, delete_missing=delete_missing).infers_deletes is infers


def test_volatile_columns_are_told_by_their_final_names():
    entity = an_entity(
        columns=(
            KEY,
            EntityColumn("At Time", "Seen"),
            EntityColumn("", "Luck", expression="rand()", volatile=("rand",)),
        ),
        transformations=(
            ColumnTransformation("at time", "now()", is_volatile=True),
            ColumnTransformation("fixed", "1"),
            Projection(("uuid() AS `Row Id`",), ("Row Id",)),
            Filter("true"),
        ),
    )

    assert entity.volatile == {"seen", "luck", "rowid"}


def test_system_columns_carry_the_prefix_of_their_entity():
    names = SystemNames("p_")

    assert an_entity().system == names
    assert (names.source_hash, names.valid_from, names.valid_to, names.is_current) == (
        *("p_SourceHash", "p_ValidFrom", "p_ValidTo", "p_IsCurrent"),
    )
    assert (names.filename, names.metadata, names.deleted, names.last_seen) == (
        *("p_source_filename", "p_metadata", "p_deleted", "p_lastSeen"),
    )


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        (Projection(("a", "upper(b) AS b")), "select a, upper(b) AS b"),
        (Filter("a > 1"), "where a > 1"),
        (Deduplicate(Keep.FIRST), "deduplicate, keep first"),
        (Deduplicate(Keep.LAST, ("a", "b desc")), "deduplicate, keep last by a, b desc"),
    ],
)
def test_a_transformation_is_shown_by_its_words(step, shown):
    assert str(step) == shown
