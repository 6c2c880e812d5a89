"""Columns that a decorator declares, in each of their forms."""

import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from typing import Annotated, Literal

import pydantic
import pytest
from pyspark.sql import types as t

from penstock.core.columns.schema import Column
from penstock.project.python.declared_columns import (
    WrongSchemaError,
    declared_columns,
    is_declared,
)

NO_TYPE = "which no column can hold; say its type: Annotated"
PLACE = "models/m/pipeline.py"
WANTED = (
    Column("id", "bigint", nullable=False, comment="its number"),
    Column("amount", "decimal(10,2)"),
    Column("tags", "array<string>"),
)


class Size(enum.Enum):
    SMALL = "s"


@dataclasses.dataclass
class Part:
    x: int
    y: float | None


@dataclasses.dataclass
class Order:
    id: int = dataclasses.field(metadata={"comment": "its number"})
    amount: Annotated[Decimal, "DECIMAL(10, 2)"] | None
    tags: list[str] | None


class Sale(pydantic.BaseModel):
    id: int = pydantic.Field(description="its number")
    amount: Annotated[Decimal, pydantic.Field(max_digits=10, decimal_places=2)] | None = None
    tags: list[str] | None = None


class Priced(pydantic.BaseModel):
    price: Decimal = pydantic.Field(max_digits=9, decimal_places=3)


@dataclasses.dataclass
class Everything:
    a: str
    b: dt.date
    c: dt.datetime
    d: bytes
    e: bool
    f: dict[str, Part]
    g: tuple[Size, ...]
    h: Literal[1, 2]
    i: Decimal
    j: Priced


STRUCT = t.StructType(
    [
        t.StructField("id", t.LongType(), nullable=False, metadata={"comment": "its number"}),
        t.StructField("amount", t.DecimalType(10, 2)),
        t.StructField("tags", t.ArrayType(t.StringType())),
    ]
)


@pytest.mark.parametrize(
    "value",
    [
        "id BIGINT NOT NULL COMMENT 'its number', amount DECIMAL(10, 2), tags ARRAY<STRING>",
        '`id`: long not null comment "its number" , amount: decimal(10,2),\ntags array<string>',
        STRUCT,
        Order,
        Sale,
    ],
    ids=["ddl", "ddl with colons", "StructType", "dataclass", "pydantic"],
)
def test_all_forms_declare_the_same(value):
    assert declared_columns(value).columns == WANTED
    assert is_declared(value)


def test_classes_have_parts_enumerations_and_plain_types():
    assert {c.name: c.type for c in declared_columns(Everything).columns} == {
        "a": "string",
        "b": "date",
        "c": "timestamp",
        "d": "binary",
        "e": "boolean",
        "f": "map<string,struct<x:bigint,y:double>>",
        "g": "array<string>",
        "h": "bigint",
        "i": "decimal(38,18)",
        "j": "struct<price:decimal(9,3)>",
    }


def test_a_comment_may_have_commas_and_quotes():
    text = r"a INT COMMENT 'it''s, (so)', `b,c` STRUCT<x: INT, y: STRING> COMMENT 'a \' b'"

    assert declared_columns(text).columns == (
        Column("a", "int", comment="it's, (so)"),
        Column("b,c", "struct<x:int,y:string>", comment="a ' b"),
    )


@dataclasses.dataclass
class Odd:
    a: object


@dataclasses.dataclass
class Unread:
    a: "Nowhere"  # noqa: F821  that is the mistake


@dataclasses.dataclass
class Endless:
    a: "list[Endless]"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("id BIGINTT, b", "column 'id' has the unknown type 'BIGINTT'"),
        ("id INT,", "'' is not a name and a type"),
        ("id INT, ID INT", "column 'id' is declared twice"),
        (t.StructType([]), "it declares no columns"),
        (int, "it declares no columns"),
        (5, "it declares no columns"),
        (Odd, f"Odd.a is object, {NO_TYPE}[object, 'STRING']"),
        (Unread, "annotations of Unread cannot be read: name 'Nowhere' is not defined"),
        (Endless, f"Endless.a is Endless, {NO_TYPE}[Endless, 'STRING']"),
    ],
)
def test_what_declares_no_columns_is_named(value, said):
    with pytest.raises(WrongSchemaError) as caught:
        declared_columns(value)

    assert str(caught.value) == said


def test_a_schema_names_the_place_of_a_table_or_its_columns(files):
    files.models("""
        @table(schema="marts", columns="id BIGINT NOT NULL COMMENT 'its number', n INT")
        def a(): ...

        @table(schema="id BIGINT COMMENT 'its number', n INT", columns={"ID": "The number."})
        def b(): ...

        @model(schema="id BIGINT")
        def c(): ...

        @source(path="x", schema="id BIGINT")
        def d(df): ...
    """)
    files.write("models/m.yml", "models: [{name: b, columns: [{name: n, tests: [not_null]}]}]\n")

    models = files.load().models

    assert {n: (str(m.table), m.contract.names) for n, m in models.items()} == {
        "a": ("marts.a", ("id", "n")),
        "b": ("m.b", ("id", "n")),
        "c": ("m.c", ("id",)),
        "d": ("m.d", ("id",)),
    }
    described = [(c.name, c.description) for c in models["a"].columns]
    assert described == [("id", "its number"), ("n", "")]
    assert [(c.name, c.description, c.tests) for c in models["b"].columns] == [
        ("n", "", ("not_null",)),
        ("id", "its number", ()),
    ]


def test_mistakes_in_declared_columns_have_their_place(files):
    files.models("""
        @table(schema="id BIGINTT")
        def a(): ...

        @table(schema="id INT", columns="id INT")
        def b(): ...

        @model(schema="marts")
        def c(): ...

        @table(schema=int, columns=[1])
        def d(): ...
    """)

    assert sorted(files.findings()) == [
        ("bad-value", f"{PLACE}:10", "such as 'id BIGINT, name STRING'"),
        ("bad-value", f"{PLACE}:13", "it declares no columns"),
        ("bad-value", f"{PLACE}:13", "such as 'id BIGINT, name STRING'"),
        ("bad-value", f"{PLACE}:4", "column 'id' has the unknown type 'BIGINTT'"),
        ("option-conflict", f"{PLACE}:7", "keep one of them"),
    ]
