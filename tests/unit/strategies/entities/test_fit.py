"""How a slice fits its table."""

import pytest

from fakes.lake import columns
from fakes.silver_table import KEY, XF, XM, an_entity
from penstock.core.columns.schema import Column
from penstock.core.entities.entity import EntityColumn, FieldRole
from penstock.core.strategy import OnSchemaChange
from penstock.strategies.entities.fit import fit
from penstock.strategies.entities.rows import SliceRows, StagedColumn


def fitted(given, table="", entity=XM, declared=()):
    """Fit a slice; what is declared is declared by its name."""
    roles = {each.name: each for each in (KEY, *declared)}
    rows = SliceRows(
        "made",
        columns=tuple(
            StagedColumn(c.name, c.type, c.name, c.type, c.type, roles.get(c.name))
            for c in columns(given).columns
        ),
        system=("sys",),
    )
    return fit(rows, entity, columns(table) if table else None)


def types(found):
    return {each.final: (each.want, each.type) for each in found.columns}


def codes(found):
    return [each.code for each in found.findings]


@pytest.mark.parametrize(
    ("have", "table", "becomes", "note"),
    [
        ("int", "int", "int", ""),
        ("bigint", "int", "bigint", "type-widened: 'n' is widened from INT to BIGINT"),
        (
            "int",
            "bigint",
            "bigint",
            "type-differs: 'n' is INT in the slice and BIGINT in the table",
        ),
        ("string", "int", None, ""),
    ],
)
def test_a_column_gets_the_wider_of_two_types_or_is_refused(have, table, becomes, note):
    found = fitted(f"ID int, n {have}", f"ID int, n {table}")

    assert found.notes == ((note,) if note else ())
    assert found.widened == (("n",) if "widened" in note else ())
    assert codes(found) == ([] if becomes else ["incompatible-type"])
    assert types(found).get("n", (None, None))[1] == becomes


def test_a_table_whose_rows_are_all_replaced_may_have_any_type():
    found = fitted("ID int, n string", "ID int, n int", XF)

    assert found.notes == ("type-changed: 'n' goes from INT to STRING",)
    assert (found.findings, types(found)["n"]) == ((), ("string", "string"))


def test_a_key_of_another_type_would_have_another_digest_unless_both_are_whole_numbers():
    assert codes(fitted("ID string", "ID int")) == ["key-type-changed"]
    assert codes(fitted("ID date", "ID timestamp_ntz")) == ["key-type-changed"]
    assert codes(fitted("ID double", "ID int")) == ["key-type-changed"]
    assert codes(fitted("ID decimal(38,30)", "ID int")) == ["key-type-changed"]
    assert codes(fitted("ID bigint", "ID int")) == []


def test_new_columns_are_told_and_those_that_the_slice_lacks_stay():
    found = fitted("ID int, a int", "id int, gone date, SYS int")

    assert found.new == ("a",)
    assert found.lost == (Column("gone", "date"),)
    assert found.notes == (
        "column-added: 'a' is new in silver_aw.x",
        "column-removed: 'gone' is not in the slice",
    )


def test_new_columns_are_left_out_or_refused_where_the_entity_says_so():
    ignoring = an_entity(on_schema_change=OnSchemaChange.IGNORE)
    failing = an_entity(on_schema_change=OnSchemaChange.FAIL)

    assert [*types(fitted("ID int, a int", "ID int", ignoring))] == ["ID"]
    (finding,) = fitted("ID int, a int, n bigint", "ID int, n int, x int", failing).findings
    assert (finding.code, finding.sentence) == (
        "schema-changed",
        "silver_aw.x: added=[a], removed=[x], widened=[n]",
    )
    assert codes(fitted("ID int", "ID int", failing)) == []


def test_a_column_without_any_value_has_the_type_of_the_table_or_is_left_out():
    assert types(fitted("ID int, n void", "ID int, n date"))["n"] == ("date", "date")
    found = fitted("ID int, n void")
    assert [*types(found)] == ["ID"]
    assert found.notes == (
        "void-column: 'n' holds no value and has no type; it is left out until it has one",
    )


@pytest.mark.parametrize("role", [FieldRole.BUSINESS_KEY, FieldRole.PARTITION])
def test_a_key_or_partition_without_any_value_is_refused(role):
    declared = [EntityColumn("n", roles=frozenset({role}))]

    assert codes(fitted("ID int, n void", declared=declared)) == ["missing-column"]
    assert codes(fitted("ID int, n void", "ID int, n int", declared=declared)) == []
