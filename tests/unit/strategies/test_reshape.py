from dataclasses import replace

from fakes.builders import a_model
from penstock.core.columns.schema import Column, Schema
from penstock.core.facts import TableFacts
from penstock.core.model import ColumnDoc
from penstock.core.strategy import Layout
from penstock.strategies.reshape import allow_widening, alter_properties

TARGET = "delta.`/w/s/users`"
FACTS = TableFacts(
    "id-1",
    4,
    Schema((Column("Id", "int"), Column("name", "string", comment="Their name"))),
    properties={"a": "1", "b": "2"},
    comment="One row per user",
)
MODEL = replace(
    a_model("users"),
    layout=Layout(properties={"a": "1"}),
    description="One row per user",
    columns=(ColumnDoc("name", "Their name"),),
)


def test_a_table_that_is_as_the_project_says_needs_no_statement() -> None:
    assert alter_properties(TARGET, MODEL, FACTS) == ()


def test_only_properties_that_differ_are_set() -> None:
    model = replace(MODEL, layout=Layout(properties={"a": "1", "c": "it's", "b": "3"}))

    assert alter_properties(TARGET, model, FACTS) == (
        "ALTER TABLE delta.`/w/s/users` SET TBLPROPERTIES ('b' = '3', 'c' = 'it\\'s')",
    )


def test_comments_of_table_and_columns_are_two_statements() -> None:
    docs = (ColumnDoc("id", "Their number"), ColumnDoc("name", "Full"), ColumnDoc("gone", "?"))
    model = replace(MODEL, description="Users", columns=docs)

    assert alter_properties(TARGET, model, FACTS) == (
        f"COMMENT ON TABLE {TARGET} IS 'Users'",
        f"ALTER TABLE {TARGET} ALTER COLUMN `Id` COMMENT 'Their number', `name` COMMENT 'Full'",
    )


def test_what_the_project_does_not_describe_keeps_its_comment() -> None:
    assert alter_properties(TARGET, replace(MODEL, description="", columns=()), FACTS) == ()


def test_widening_is_allowed_once_and_not_again() -> None:
    assert allow_widening(TARGET, {}) == (
        "ALTER TABLE delta.`/w/s/users` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    )
    assert allow_widening(TARGET, {"delta.enableTypeWidening": "TRUE"}) == ()
