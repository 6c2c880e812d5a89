"""Names, and what needs quotes in them."""

import pytest

from penstock.core.names import (
    InputKind,
    InputName,
    TableName,
    literal,
    maps_columns,
    refused_by_delta,
    shown_name,
)


@pytest.mark.parametrize(
    ("column", "refused"),
    [
        ("unit price", "a space"),
        ("a\nb", "a line break"),
        ("a\tb", "a tab"),
        ("a;b", "';'"),
        ("a.b", ""),
    ],
)
def test_what_delta_refuses_in_a_column_is_said(column, refused):
    assert refused_by_delta(column) == refused


@pytest.mark.parametrize(
    ("mode", "maps"), [("none", False), ("name", True), ("ID", True), (None, False)]
)
def test_a_table_that_maps_columns_takes_every_name(mode, maps):
    properties = {} if mode is None else {"delta.columnMapping.mode": mode}

    assert maps_columns(properties) is maps


def test_only_parts_that_need_them_are_quoted():
    assert shown_name("raw.odd name.1st._ok2") == "raw.`odd name`.`1st`._ok2"


def test_a_literal_keeps_quotes_and_backslashes():
    assert literal("it's \\") == r"'it\'s \\'"


def test_a_table_has_a_schema_or_is_its_name_alone():
    table = TableName("Raw", "Events")

    assert (str(table), table.folded, table.sql) == ("Raw.Events", "raw.events", "`Raw`.`Events`")
    assert str(TableName("", "events")) == "events"
    assert str(InputName(InputKind.SOURCE, "raw.events")) == "raw.events"
