import pytest

from penstock.core.columns.types import ScalarType
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.project.unit_tests.casting import inferred, type_in
from penstock.project.unit_tests.definition import GivenTable
from penstock.project.unit_tests.load import written_node


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[1, ~]", "bigint"),
        ("[1, 0.5]", "double"),
        ("[true]", "boolean"),
        ("[2024-01-01]", "date"),
        ("[2024-01-01, 2024-01-01 10:00:00]", "timestamp"),
        ("['1']", "string"),
        ("[1, a]", "string"),
        ("[[1], [], [2.5]]", "array<double>"),
        ("[{a: 1}, {b: x}]", "struct<a:bigint,b:string>"),
        ("[~]", "None"),
        ("[[]]", "None"),
    ],
)
def test_values_tell_a_type_where_nothing_else_does(text, kind) -> None:
    assert str(inferred(written_node("t.yml", text)[0].items)) == kind


def test_declared_types_of_sources_and_models_are_known(load) -> None:
    loaded = load(
        """\
        unit_tests:
          - name: a
            model: users
            given: {inputs: {RAW.Users: {rows: [{ID: 1}]}}}
            expect: {rows: [{id: 1}]}
        """
    )

    table = loaded.tests[0].runs[0].given.inputs[InputName(InputKind.SOURCE, "raw.users")]
    assert table.names == ("ID",)
    assert table.type_of("Id") == ScalarType("tinyint")
    assert table.valued == {"id"}


def test_a_column_has_its_declared_type_else_that_of_its_values() -> None:
    rows = written_node("t.yml", "[{A: 1}, {b: x, a: 2.5}]")[0].items
    table = GivenTable(
        Location("t.yml"),
        tuple(each.members for each in rows),
        columns={"B": ScalarType("int"), "c": ScalarType("date")},
        header=("D",),
    )

    assert [str(type_in(table, name)) for name in "aBcD"] == ["double", "int", "date", "None"]
    assert table.names == ("D", "B", "c", "A")
    assert table.valued == {"a", "b", "d"}
