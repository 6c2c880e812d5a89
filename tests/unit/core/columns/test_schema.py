"""Columns are found as Spark compares their names."""

import pytest

from penstock.core.columns.schema import Column, Schema

SCHEMA = Schema((Column("Id", "int"), Column("name", "string")))


@pytest.mark.parametrize(("name", "found"), [("ID", 0), ("Name", 1), ("nam", None)])
def test_a_column_is_found_without_case(name, found):
    assert SCHEMA.find(name) == (None if found is None else SCHEMA.columns[found])
    assert SCHEMA.names == ("Id", "name")
