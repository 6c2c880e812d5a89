"""Columns of all versions against the table that has to hold them."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.columns.schema import Column, Schema
from penstock.core.facts import TableFacts
from penstock.core.findings import Location
from penstock.core.model import Body, Model, PythonFunction, Version
from penstock.core.strategy import Layout, OnSchemaChange
from penstock.plan.table_columns import (
    Migration,
    contract_findings,
    migration,
    target_schema,
    version_schema_diff,
    with_described,
)


def test_a_frame_is_compared_with_the_declared_columns_by_name():
    wanted = Schema((Column("a", "int"), Column("b", "int"), Column("c", "date")))
    model = replace(a_model("m"), contract=wanted, function=PythonFunction(print, "", {}))
    frame = Schema((Column("C", "date"), Column("b", "bigint"), Column("d", "int")))

    found = [*contract_findings(model, frame)]

    assert [each.sentence for each in found] == [
        "m: a is not in the frame",
        "m: b is BIGINT in the frame and INT in the schema",
        "m: d is not in the schema",
    ]
    assert {each.hint for each in found} == {"select and cast what schema= declares, or change it"}


def a_versioned(*versions: tuple[str, Schema], **changes: object) -> Model:
    """A model with versions from dates, in the order of its file."""
    plain = a_model("daily")
    made = tuple(
        Version(number, _body(plain, dt.date.fromisoformat(since)), schema)
        for number, (since, schema) in enumerate(versions, 1)
    )
    return replace(plain, versions=made, **changes)


def _body(model: Model, since: dt.date) -> Body:
    fingerprint = replace(model.fingerprint, effective_from=since)
    return Body(model.query, fingerprint, "", "", Location("queries/daily.yaml"))


def required(name: str, kind: str) -> Column:
    return Column(name, kind, nullable=False)


def moved(before: str, after: str, **changes: object) -> Migration:
    """What becomes of a table with these columns when the only version has those."""
    model = a_versioned(("2024-01-01", columns(after)), **changes)
    return migration(model, columns(after), TableFacts("id", 1, columns(before)))


def test_the_target_has_the_columns_of_all_versions_in_order_of_appearance() -> None:
    model = a_versioned(
        ("2024-03-01", columns("date date, USERS bigint, events bigint")),
        ("2024-01-01", columns("date date, users int, gone string")),
    )

    assert target_schema(model) == columns("date date, users bigint, gone string, events bigint")


def test_a_column_is_not_null_only_if_every_version_requires_it() -> None:
    first = Schema((required("date", "date"), required("n", "int"), required("old", "int")))
    second = Schema((required("date", "date"), Column("n", "int"), required("new", "int")))
    model = a_versioned(("2024-01-01", first), ("2024-02-01", second))

    assert target_schema(model) == Schema(
        (required("date", "date"), Column("n", "int"), Column("old", "int"), Column("new", "int"))
    )


def test_without_declared_columns_the_query_tells() -> None:
    described = Schema((required("date", "date"), Column("n", "int")))

    assert target_schema(a_versioned(("2024-01-01", Schema()))) is None
    assert with_described(None, described) == columns("date date, n int")
    assert with_described(columns("N bigint"), described) == columns("N bigint, date date")


def test_new_columns_and_fields_are_added() -> None:
    found = moved("a int, s struct<x:int>", "a int, s struct<y:date,X:int>, b bigint")

    assert found == Migration(
        columns("a int, s struct<x:int,y:date>, b bigint"),
        added=("+ s.y DATE", "+ b BIGINT"),
    )


def test_wider_types_come_with_the_build_once_the_table_allows_them() -> None:
    found = moved("a int, s struct<x:float>, n int", "a bigint, s struct<x:double>, n int")
    allowed = TableFacts("id", 1, columns("a int"), properties={"delta.enableTypeWidening": "true"})
    model = a_versioned(("2024-01-01", columns("a bigint")))

    assert found == Migration(
        columns("a bigint, s struct<x:double>, n int"),
        widened=("a INT -> BIGINT", "s.x FLOAT -> DOUBLE"),
        needs_widening_property=True,
    )
    assert found.lines == ("a INT -> BIGINT (widening)", "s.x FLOAT -> DOUBLE (widening)")
    assert migration(model, columns("a bigint"), allowed).needs_widening_property is False


def test_types_are_not_widened_where_somebody_switched_that_off() -> None:
    layout = Layout(properties={"delta.enableTypeWidening": "false"})

    found = moved("a int", "a bigint", layout=layout)

    assert (found.widened, found.breaking) == ((), ("a INT -> BIGINT",))


@pytest.mark.parametrize(
    ("before", "after", "line", "uncastable"),
    [
        ("bigint", "double", "events BIGINT -> DOUBLE", ()),
        ("int", "string", "events INT -> STRING", ()),
        ("bigint", "int", "events BIGINT -> INT", ()),
        ("date", "boolean", "events DATE -> BOOLEAN", ("events DATE -> BOOLEAN",)),
    ],
)
def test_any_other_type_is_breaking(before, after, line, uncastable) -> None:
    found = moved(f"events {before}", f"events {after}")

    assert found == Migration(columns(f"events {after}"), breaking=(line,), uncastable=uncastable)
    assert found.lines == (f"{line} (breaking)",)


def test_a_column_of_no_version_is_kept_and_may_be_null() -> None:
    table = TableFacts("id", 1, Schema((required("old", "int"), Column("a", "int"))))

    found = migration(a_versioned(("2024-01-01", columns("a int"))), columns("a int"), table)

    assert found == Migration(columns("old int, a int"), nullable=("old",), kept_columns=("old",))
    assert found.lines == ("old becomes nullable",)


def test_a_rewrite_may_leave_it_out_where_the_model_says_sync() -> None:
    found = moved("old int, a int", "a int", on_schema_change=OnSchemaChange.SYNC)

    assert (found.droppable, found.breaking) == (("old",), ())
    assert (found.schema, found.reduced_schema) == (columns("old int, a int"), columns("a int"))
    assert found.is_empty


def test_a_column_that_becomes_required_is_guarded_and_one_that_need_not_be_is_freed() -> None:
    wanted = Schema((required("a", "int"), Column("b", "int")))
    table = TableFacts("id", 1, Schema((Column("a", "int"), required("b", "int"))))

    found = migration(a_versioned(("2024-01-01", wanted)), wanted, table)

    assert found == Migration(columns("a int, b int"), nullable=("b",), guarded=("a",))


def test_a_version_without_declared_columns_takes_the_tables_wider_types() -> None:
    model = a_versioned(("2024-01-01", Schema()), on_schema_change=OnSchemaChange.SYNC)
    table = TableFacts("id", 1, columns("a bigint, more int"))

    found = migration(model, columns("a int"), table)

    assert found == Migration(columns("a bigint, more int"), kept_columns=("more",))


def test_another_layout_is_named_and_sorting_within_partitions_is_none() -> None:
    layout = Layout(partition_by=("date",), cluster_by=("n",))
    model = a_versioned(("2024-01-01", columns("date date, n int")), layout=layout)
    wanted = columns("date date, n int")
    same = TableFacts("id", 1, wanted, partition_by=("DATE",))
    other = TableFacts("id", 1, wanted, cluster_by=("date",))

    assert migration(model, wanted, same).is_empty
    assert migration(model, wanted, other).moved == (
        "partition_by is [], the code says [date]",
        "cluster_by is [date], the code says []",
    )


def test_two_declared_schemas_differ_line_by_line() -> None:
    before = columns("date date, gone int, n int, e bigint, s struct<a:int>, same int")
    after = columns("same int, date date, n bigint, e double, s struct<a:int,b:int>, new string")

    assert version_schema_diff(before, after) == (
        "- gone INT",
        "~ n INT -> BIGINT (widening)",
        "~ e BIGINT -> DOUBLE (breaking)",
        "~ s STRUCT<A:INT> -> STRUCT<A:INT,B:INT> (additive)",
        "+ new STRING",
    )


def test_a_required_column_differs_from_a_nullable_one() -> None:
    free, bound = columns("n int"), Schema((required("n", "int"),))

    assert version_schema_diff(free, bound) == ("~ n INT -> INT REQUIRED",)
    assert version_schema_diff(bound, free) == ("~ n INT REQUIRED -> INT (widening)",)
    assert version_schema_diff(free, Schema()) == ()


def test_fields_that_only_the_table_has_stay_at_any_depth() -> None:
    nested = "xs array<struct<a:int,b:int>>, m map<string,struct<a:int>>"

    found = moved(nested, "xs array<struct<a:int,c:int>>, m map<string,struct<b:int,a:int>>")

    assert [str(each.type) for each in found.schema.columns] == [
        "array<struct<a:int,b:int,c:int>>",
        "map<string,struct<a:int,b:int>>",
    ]
