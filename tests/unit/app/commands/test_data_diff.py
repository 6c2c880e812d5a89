"""`diff --data`: which two versions of a table are compared, by which columns, and the counts."""

import pytest

from fakes.builders import a_model
from fakes.lake_session import FakeSession
from fakes.two_targets import two_targets
from penstock.app.commands.data_diff import (
    ChangedColumn,
    ChangedValue,
    compare,
    data_diff,
)
from penstock.app.read_requests import DataDiffRequest
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import TableError, UsageError
from penstock.core.names import TableName
from penstock.core.strategy import WindowSettings
from penstock.strategies.merge import Merge
from penstock.strategies.overwrite import OverwriteRange
from penstock.strategies.view import View

USERS = a_model("users", strategy=Merge(("Id",)))
PLAIN = a_model("plain")
RECENT = a_model("recent", "users", strategy=View())
FED = a_model("fed", "users", strategy=OverwriteRange(WindowSettings("ts")))


def schema(*columns):
    return Schema(tuple(Column(*each.split(":", 1)) for each in columns))


ID_NAME = schema("id:int", "name:string")


@pytest.fixture
def targets(monkeypatch):
    monkeypatch.setattr(FakeSession, "rows", lambda *_: (), raising=False)
    dev, prod = two_targets(USERS, PLAIN, RECENT)
    for target in (prod, dev):
        target.run()
    return dev, prod


def compared(place, model="plain", **asked):
    found = data_diff(place.services(), DataDiffRequest(".", model, **asked))
    return found.before, found.after


def test_a_table_is_compared_with_the_version_before_its_last_step(targets):
    dev, _ = targets
    dev.clock.advance(seconds=1)
    dev.run("plain", full_refresh=True)

    step = dev.last_step("plain").intent.step
    assert compared(dev) == (f"version 0 (before step {step})", "version 1 in target dev")


def test_a_version_a_step_and_a_target_can_be_named(targets):
    dev, _ = targets
    step = dev.last_step("plain").intent.step

    assert compared(dev, from_="0")[0] == "version 0"
    assert compared(dev, from_=step)[0] == f"version 0 (step {step})"
    assert compared(dev, from_="prod")[0] == "version 0 in target prod"


@pytest.mark.parametrize(
    ("model", "source", "code", "sentence"),
    [
        ("plain", "", "nothing-before", "s.plain has no version before its last step"),
        (
            "plain",
            "7",
            "unknown-version",
            "--from 7: there is no such target, version or step",
        ),
        ("recent", "prod", "nothing-to-compare", "recent has no table, so it has no rows"),
        ("fed", "", "not-built-yet", "fed has no table at "),
    ],
)
def test_what_cannot_be_compared_is_refused(targets, model, source, code, sentence):
    dev, _ = targets
    dev.has(FED)

    with pytest.raises((UsageError, TableError)) as raised:
        compared(dev, model, from_=source)

    assert raised.value.code == code
    assert sentence in str(raised.value)


def test_a_table_that_the_other_target_lacks_is_named(targets):
    dev, prod = targets
    prod.has(a_model("plain", table=TableName("s", "moved")))

    with pytest.raises(TableError) as raised:
        compared(dev, from_="prod")

    assert raised.value.code == "not-built-yet"
    assert raised.value.hint == "penstock run --target prod --select plain"


def columns(of):
    return [after.name for _, after in of.keys], [after.name for _, after in of.values]


def test_rows_are_found_by_the_models_keys_or_by_those_that_are_asked_for():
    both = schema("id:int", "name:string", "city:string")

    assert columns(compare(USERS, both, both)) == (["id"], ["name", "city"])
    assert columns(compare(USERS, both, both, ["NAME"])) == (["name"], ["id", "city"])
    assert columns(compare(PLAIN, both, both)) == (["id", "name", "city"], [])
    assert not compare(PLAIN, both, both).is_keyed


def test_without_its_key_in_both_tables_whole_rows_are_compared():
    found = compare(USERS, schema("name:string"), ID_NAME)

    assert columns(found) == (["name"], [])
    assert not found.is_keyed


def test_columns_without_an_order_are_left_out_and_named():
    found = compare(
        USERS, schema("id:int", "tags:map<string,int>"), schema("ID:int", "tags:map<string,int>")
    )

    assert columns(found) == (["ID"], [])
    assert found.not_compared == ("tags MAP<STRING,INT>",)


def test_a_column_whose_type_changed_is_compared_as_text():
    sql = compare(USERS, schema("id:int", "name:int"), ID_NAME).sql

    assert "CAST(`name` AS STRING) v0" in sql
    assert "`id` k0" in sql


def test_a_key_that_no_table_has_is_refused_with_the_nearest():
    with pytest.raises(UsageError) as raised:
        compare(USERS, ID_NAME, ID_NAME, ["nam"])

    assert (raised.value.code, raised.value.hint) == ("unknown-column", "did you mean 'name'?")


def test_tables_without_a_common_column_cannot_be_compared():
    with pytest.raises(UsageError) as raised:
        compare(USERS, schema("a:int"), schema("b:int"))

    assert raised.value.code == "nothing-to-compare"


def row(kind, rows, key, numbers="[0]", samples="[null]", repeated=0):
    return {
        "kind": kind,
        "rows": rows,
        "repeated": repeated,
        "shown_key": key,
        "numbers": numbers,
        "samples": samples,
    }


def test_counts_of_all_groups_are_added_up_and_each_gives_one_example():
    rows = [
        row("added", 2, "7"),
        row("changed", 3, "1", "[3]", '[["1","a",null]]'),
        row("changed", 1, "2", "[1]", '[["2","b","c"]]'),
        row("removed", 1, "9"),
        row("same", 90, "3", repeated=4),
        row("same", 10, "4"),
    ]

    found = compare(USERS, ID_NAME, ID_NAME).diff("users", ("old", "new"), rows, ("+ x INT",))

    assert (found.rows_before, found.rows_after) == (105, 106)
    assert (found.same, found.changed, found.added, found.removed) == (100, 4, 2, 1)
    assert found.columns == (
        ChangedColumn("name", 4, (ChangedValue("1", "a", None), ChangedValue("2", "b", "c"))),
    )
    assert (found.added_keys, found.removed_keys, found.repeated) == (("7",), ("9",), 4)
    assert (found.key, found.schema) == (("id",), ("+ x INT",))
