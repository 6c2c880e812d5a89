from __future__ import annotations

import json

import pytest

from fakes.versioned_cases import daily
from penstock.core.columns.schema import Column

BASE = "schema:\n      - {name: date, type: DATE}\n      - {name: users, type: INT64}\n"


def with_fields(*fields: str, more: str = "") -> dict[str, str]:
    """The model with other fields beside `date`."""
    lines = "".join(f"      - {field}\n" for field in fields)
    return daily(BASE, f"schema:\n      - {{name: date, type: DATE}}\n{lines}", more=more)


def columns(project, number: int = 0) -> tuple[Column, ...]:
    return project.models["daily"].versions[number].schema.columns[1:]


def test_modes_and_records(load):
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
        ("{name: x, type: INT, fields: [{name: y, type: INT}]}", "INT is not a STRUCT"),
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
