from __future__ import annotations

from fakes.versioned_cases import daily, version
from penstock.core.columns.schema import Column
from penstock.project.versioned.schema import read_schema_text

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


def test_a_schema_may_change_another(load):
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


def test_unknown_and_doubled_fields_are_found(findings):
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


def test_the_text_of_a_schema_reads_back(load):
    version_1 = (
        load(with_fields("{name: a, type: INT64, mode: REQUIRED}")).models["daily"].versions[0]
    )

    assert read_schema_text(version_1.schema_text).columns == (
        Column("a", "bigint", nullable=False),
        Column("date", "date"),
    )
    assert read_schema_text("").columns == ()
