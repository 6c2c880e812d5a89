from __future__ import annotations

import json

import pytest

from fakes.versioned_cases import daily, version
from penstock.core.schema import Column
from penstock.project.versioned.schema import read_schema_text

ALIASES = {
    "INT64": "bigint",
    "FLOAT64": "double",
    "BOOL": "boolean",
    "BYTES": "binary",
    "NUMERIC": "decimal(38,9)",
    "NUMERIC(10,2)": "decimal(10,2)",
    "DATETIME": "timestamp_ntz",
    "JSON": "string",
    "INTEGER": "int",
    "INT": "int",
    "FLOAT": "float",
    "Numeric( 12 , 3 )": "decimal(12,3)",
    "decimal": "decimal(10,0)",
    "array<int64>": "array<bigint>",
    "Map<String, Struct<a: INT64, b ARRAY<BOOL>>>": (
        "map<string,struct<a:bigint,b:array<boolean>>>"
    ),
    "record<`x:y` INT>": "struct<`x:y`:int>",
    "timestamp": "timestamp",
    "VARCHAR(10)": "varchar(10)",
}
BASE = "schema:\n      - {name: date, type: DATE}\n      - {name: users, type: INT64}\n"


def with_fields(*fields: str, more: str = "") -> dict[str, str]:
    """The model with other fields beside `date`."""
    lines = "".join(f"      - {field}\n" for field in fields)
    return daily(BASE, f"schema:\n      - {{name: date, type: DATE}}\n{lines}", more=more)


def changed(*lines: str, base: tuple[str, ...] = ("{name: a, type: INT64}",)) -> dict[str, str]:
    """A second version that changes the schema of the first."""
    delta = "".join(f"\n      {line}" for line in ("base: ${{ versions.1.schema }}", *lines))
    return with_fields(*base, more=version(2, "2024-02-01", schema=delta))


def columns(project, number: int = 0) -> tuple[Column, ...]:
    return project.models["daily"].versions[number].schema.columns[1:]


def test_DV6_a_schema_may_change_another(load):
    base = ("{name: a, type: INT64}", "{name: b, type: INT64, mode: REQUIRED}")
    lines = (
        "remove: [a]",
        "modify: [{name: b, type: FLOAT64}]",
        "add: [{name: a, type: STRING}]",
    )

    two = load(changed(*lines, base=base)).models["daily"].versions[1]

    assert two.schema.columns == (
        Column("date", "date"),
        Column("b", "double", nullable=False),
        Column("a", "string"),
    )


def test_DV6_unknown_and_doubled_fields_are_found(findings):
    files = changed("modify: [{name: evnts, type: INT}]", "add: [{name: events, type: INT}]")
    files["models/daily.yaml"] = files["models/daily.yaml"].replace("name: a,", "name: events,")

    assert findings(files, hints=True) == [
        ('models/daily.yaml:18:23: error: unknown-field: v2: modify names "evnts"\n  hint: events'),
        (
            "models/daily.yaml:19:20: error: duplicate-field: "
            'v2: add names "events", which is there already\n  hint: change it under modify:'
        ),
    ]


def test_changes_reach_into_structs(load):
    fields = "[{name: x, type: INT64}, {name: y, type: DATE}]"
    base = (f"{{name: a, type: RECORD, mode: REPEATED, fields: {fields}}}",)
    lines = ("remove: [a.y]", "modify: [{name: A.x, type: STRING, description: key}]")

    two = load(changed(*lines, base=base)).models["daily"].versions[1]

    assert two.schema.columns[1] == Column("a", "array<struct<x:string>>")


def test_the_last_field_of_a_struct_cannot_hide_that_it_is_empty(load):
    assert columns(load(changed("remove: [a]")), 1) == ()


@pytest.mark.parametrize(("written", "kind"), ALIASES.items())
def test_DV11_types_have_spark_s_names(load, written, kind):
    assert columns(load(with_fields(f"{{name: x, type: '{written}'}}"))) == (Column("x", kind),)


def test_DV11_modes_and_records(load):
    fields = (
        "{name: a, type: INT64, mode: repeated}",
        "{name: b, type: RECORD, fields: [{name: c, type: BOOL, nullable: false}]}",
        "{name: d, type: INT, nullable: false, description: A day.}",
    )

    project = load(with_fields(*fields))

    assert columns(project) == (
        Column("a", "array<bigint>"),
        Column("b", "struct<c:boolean>"),
        Column("d", "int", nullable=False, comment="A day."),
    )
    assert json.loads(project.models["daily"].versions[0].schema_text) == [
        {"name": "a", "type": "array<bigint>", "mode": "NULLABLE"},
        {
            "name": "b",
            "type": "struct<c:boolean>",
            "mode": "NULLABLE",
            "fields": [{"name": "c", "type": "boolean", "mode": "REQUIRED"}],
        },
        {"name": "d", "type": "int", "mode": "REQUIRED"},
        {"name": "date", "type": "date", "mode": "NULLABLE"},
    ]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (
            "BIGNUMERIC",
            (
                "type-unsupported: BIGNUMERIC is no type of Spark\n"
                "  hint: write DECIMAL(38,s), or STRING if that is too small"
            ),
        ),
        ("TIME", "type-unsupported: TIME is no type of Spark\n  hint: write STRING"),
        ("GEOGRAPHY", "type-unsupported: GEOGRAPHY is no type of Spark\n  hint: write STRING"),
        ("BIGIN", "unknown-type: 'BIGIN' is no type\n  hint: did you mean 'BIGINT'?"),
        (
            "ARRAY<STRING, INT>",
            "unknown-type: 'ARRAY<STRING, INT>' is no type\n  hint: did you mean 'ARRAY'?",
        ),
        (
            "STRUCT",
            'empty-struct: v1: field "x" is STRUCT without fields\n  hint: list them under fields:',
        ),
        (
            "STRUCT<a: STRUCT<>>",
            (
                'empty-struct: v1: field "x.a" is STRUCT without fields\n'
                "  hint: list them under fields:"
            ),
        ),
    ],
)
def test_DV11_types_that_are_none(findings, kind, says):
    code = says.partition(":")[0]
    column = 16 if code == "empty-struct" else 25

    assert findings(with_fields(f"{{name: x, type: '{kind}'}}"), hints=True) == [
        f"models/daily.yaml:12:{column}: error: {says}"
    ]


def test_a_struct_in_a_struct_needs_fields_too(findings):
    field = "{name: a, type: RECORD, fields: [{name: address, type: STRUCT}]}"

    assert findings(with_fields(field)) == [
        (
            "models/daily.yaml:12:49: error: empty-struct: "
            'v1: field "address" is STRUCT without fields'
        )
    ]


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("{name: x, type: INT, mode: MUST}", "mode is 'MUST'; it must be one of"),
        ("{name: x, type: INT, fields: [{name: y, type: INT}]}", "INT is no STRUCT"),
        ("{name: x.y, type: INT}", "schema.name is 'x.y'; it must be a column name"),
        ("{type: INT}", "missing-key: 'name' is missing"),
        ("{name: DATE, type: INT}", 'duplicate-field: v1: field "DATE" is there twice'),
        ("{name: x, type: INT, mode: NULLABLE, nullable: true}", "alias-conflict: mode and"),
        ("just_a_name", "schema is 'just_a_name'; it must be a mapping"),
    ],
)
def test_fields_that_do_not_fit(findings, field, says):
    (found,) = findings(with_fields(field))

    assert found.startswith("models/daily.yaml:12:")
    assert says in found


def test_the_text_of_a_schema_reads_back(load):
    version_1 = (
        load(with_fields("{name: a, type: INT64, mode: REQUIRED}")).models["daily"].versions[0]
    )

    assert read_schema_text(version_1.schema_text).columns == (
        Column("a", "bigint", nullable=False),
        Column("date", "date"),
    )
    assert read_schema_text("").columns == ()
