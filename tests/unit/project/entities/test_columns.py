"""Columns, watermarks and transformations: what they become, and what cannot be."""

import pytest

from fakes.entity_files import KEY, entity, files
from penstock.core.entities.entity import WatermarkEntry
from penstock.core.entities.transformations import ColumnTransformation, Projection


def read(load, **said):
    return next(iter(load(files(entity(**said))).entities.values()))


def codes(findings, **said):
    return [line.split(": ")[2] for line in findings(files(entity(**said)))]


def test_transformations_are_projections_and_single_columns(load):
    column = {"column": "x", "expression": "id+1 -- one more"}

    listed = read(load, transformations=["id", "upper(name) as name"])
    text = read(load, transformations="*")
    mixed = read(load, transformations=[["id", "uuid() as u"], column, "*", "now() AS n"])

    assert listed.transformations == (Projection(("id", "upper(name) as name")),)
    assert text.transformations == (Projection(("*",)),)
    assert mixed.transformations == (
        Projection(("id", "uuid() as u"), ("u",)),
        ColumnTransformation("x", "id+1"),
        Projection(("*", "now() AS n"), ("n",)),
    )
    assert mixed.volatile == {"u", "n"}


def test_names_are_final_names(load):
    column = {"name": "Order Year", "fieldroles": ["partition"]}
    odd = [{"name": name} for name in ("a/b", "é t", "a_b", "a.c\t+,-;{}()=")]

    plain = read(load, process="full", columns=[column, *odd], destination="my-dest")
    renamed = read(load, process="full", columns=[{**column, "newname": "yr"}])

    assert (plain.key_column, plain.partition_columns) == ("", ("OrderYear",))
    assert [each.final_name for each in plain.columns[1:]] == ["a/b", "ét", "a_b", "ac"]
    assert renamed.partition_columns == ("yr",)


def test_a_calculated_key_is_a_literal(load):
    column = {"name": "Administration", "expression": "950", "datatype": "int"}
    roles = {"fieldroles": ["businesskey", "partition"]}

    found = read(load, columns=[KEY, {**column, **roles}])

    assert found.business_keys == ("ID", "Administration")
    assert (found.columns[1].literal, found.columns[1].type) == ("950", "int")
    assert found.scope is None


def test_a_volatile_column_makes_what_reads_it_volatile(load):
    made = [
        {"name": "loaded", "newname": "Loaded At", "expression": "current_timestamp()"},
        {"name": "y", "expression": "concat(Loaded, 'x')"},
        {"name": "z", "expression": "upper(name)"},
    ]

    project = load(files(entity(columns=[KEY, *made])))

    assert project.entities["silver_aw.x"].volatile == {"loadedat", "y"}
    assert [f.render().partition(" (")[0] for f in project.findings] == [
        (
            'entities/x.json:31:20: warning: volatile-column: calculated column "loaded" uses '
            "current_timestamp(): it differs on every run, is left out of the hash, and a rerun "
            "changes it"
        ),
        (
            'entities/x.json:35:20: warning: volatile-column: calculated column "y" uses '
            "current_timestamp: it differs on every run, is left out of the hash, and a rerun "
            "changes it"
        ),
    ]


@pytest.mark.parametrize("role", ["businesskey", "partition"])
def test_a_key_that_changes_on_every_run_is_an_error(findings, role):
    made = {"name": "u", "expression": "uuid()", "fieldroles": [role]}

    assert codes(findings, columns=[KEY, made]) == ["volatile-key", "volatile-column"]


def test_a_watermark_or_key_out_of_a_volatile_transformation_is_an_error(findings):
    projected = ["ID", "now() AS SeqNr"]

    assert codes(findings, columns=[KEY, {"name": "SeqNr"}], transformations=projected) == [
        "volatile-key"
    ]


@pytest.mark.parametrize(
    "text", ["sum(a)", "max(a) over (partition by b)", "(select 1)", "explode(a)", "a, b", "a as b"]
)
def test_an_expression_makes_one_value_of_one_row(findings, text):
    assert codes(findings, columns=[KEY, {"name": "y", "expression": text}]) == [
        "not-a-row-expression"
    ]


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ([{"name": "id"}], "duplicate-column"),
        ([{"name": "a", "newname": "I-D"}], "duplicate-column"),
        ([{"name": "a", "fieldroles": ["calculated"]}], "missing-key"),
        ([{"name": "", "newname": "a"}], "missing-key"),
        ([{"newname": "a"}], "missing-key"),
        ([{"name": " - "}], "empty-column-name"),
        ([{"name": "a", "fieldroles": ["key"]}], "bad-value"),
        ([{"name": "a", "datatype": 3}], "bad-value"),
        ([{"name": "a", "datatype": "decimal(39,2)"}], "bad-value"),
        ([{"name": "a", "datatype": "decimal(2,3)"}], "bad-value"),
        ([{"name": "a", "datatype": "array<int>"}], "unknown-type"),
        (["a"], "bad-value"),
    ],
)
def test_a_column_that_cannot_be_is_an_error(findings, columns, code):
    assert codes(findings, columns=[KEY, *columns]) == [code]


def test_a_column_without_a_name_in_the_slice_is_calculated(load):
    column = {"name": "", "newname": "Region Code", "expression": "'EMEA'"}

    found = read(load, columns=[KEY, column]).columns[1]

    assert (found.final_name, found.literal, found.is_calculated) == ("RegionCode", "EMEA", True)


def test_a_watermark_says_a_final_name_or_that_of_the_slice(load, findings):
    columns = [KEY, {"name": "Order Date", "newname": "ordered"}]
    entries = [
        {"column_name": "ORDERED"},
        {"column_name": "order date", "operation": "OR", "operation_group": 1},
        {"column_name": "not said"},
    ]

    found = read(load, columns=columns, watermark=entries).watermark

    assert found == (
        WatermarkEntry("ordered"),
        WatermarkEntry("ordered", "or", 1),
        WatermarkEntry("notsaid"),
    )
    swapped = [{"name": "a", "newname": "b"}, {"name": "b", "newname": "c"}]
    said = {"columns": [KEY, *swapped], "watermark": [{"column_name": "b"}]}
    assert codes(findings, **said) == ["ambiguous-column"]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({}, "missing-key"),
        ({"column_name": "a", "operation": "xor"}, "bad-value"),
        ({"column_name": "a", "operation_group": -1}, "bad-value"),
        ({"column_name": "a", "operation_group": "1"}, "bad-value"),
        ({"column_name": "a", "group": 1}, "unknown-key"),
    ],
)
def test_a_watermark_that_cannot_be_is_an_error(findings, entry, code):
    assert codes(findings, watermark=[entry]) == [code]
