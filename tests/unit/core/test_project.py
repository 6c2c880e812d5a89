"""What a loaded project tells of its tables, views and packages."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project, a_source
from fakes.check_inputs import a_check
from fakes.session_world import package
from penstock.core.checks.check import Checks
from penstock.core.model import Fingerprint, PythonFunction, Seed
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Target
from penstock.strategies.checks.types import RowCount
from penstock.strategies.view import View

USERS = a_model("users", "raw.events")
CHECKED = Checks((), (a_check(RowCount(1)),))


def a_view(name, *inputs, **changes):
    return a_model(name, *inputs, strategy=View(), **changes)


def named(kind, name):
    return InputName(kind, name)


def test_a_table_lies_in_the_warehouse_unless_it_has_another_place():
    target = Target("dev", "s3://w/", "sqlite://", places={"s.users": "/elsewhere"})

    assert target.uri_of(TableName("s", "orders")) == "s3://w/s/orders"
    assert target.uri_of(TableName("S", "Users")) == "/elsewhere"


def test_only_views_with_checks_are_checked_views():
    project = a_project(
        a_view("seen"), a_view("checked", checks=CHECKED), a_model("table", checks=CHECKED)
    )

    assert project.checked_views == {"checked"}


def test_views_of_tables_are_those_that_a_table_reads_through_others_too():
    project = a_project(
        a_view("deep", "raw.events"),
        a_view("near", "deep"),
        a_view("asked"),
        a_view("idle", "table"),
        a_view("raw.idle"),
        replace(a_model("table", "near", "raw.idle"), depends_on=("asked",)),
    )

    assert project.views_of_tables == {"deep", "near", "asked"}


def test_a_package_has_its_tables_and_the_models_that_carry_its_tag():
    web = package()
    other = replace(web, name="app", models=())
    project = replace(
        a_project(
            a_model("web_sessions"),
            a_model("mine", tags=("x", "web_incremental")),
            a_model("apps", tags=("app_incremental",)),
            a_model("loose"),
        ),
        packages={"web": web, "app": other},
    )
    names = ("web_sessions", "mine", "apps", "loose", "web_users")

    assert [project.package_of(each) for each in names] == [web, web, other, None, None]
    assert project.models_of("web") == ("web_sessions", "mine")
    assert project.models_of("app") == ("apps",)
    assert project.models_of("gone") == ()
    assert a_project(a_model("web_sessions")).package_of("web_sessions") is None


def test_a_table_is_found_behind_each_kind_of_input():
    seed = Seed("codes", TableName("s", "codes"), USERS.where, "seeds/codes.csv", "csv", "d")
    project = replace(a_project(USERS, a_source("events")), seeds={"codes": seed})
    this = named(InputKind.THIS, "")

    assert [
        str(project.table_of(each, USERS))
        for each in (
            named(InputKind.MODEL, "users"),
            named(InputKind.MODEL, "codes"),
            named(InputKind.SOURCE, "raw.events"),
            named(InputKind.EXTERNAL, "lake.raw.old"),
            this,
        )
    ] == ["s.users", "s.codes", "raw.events", "lake.raw.old", "s.users"]
    assert project.table_of(named(InputKind.EXTERNAL, "lake.raw.old")).table == "old"
    with pytest.raises(KeyError, match="outside of a model"):
        project.table_of(this)


def test_sql_names_a_table_by_its_folder_or_in_the_catalog():
    project = a_project(USERS)
    inside = replace(project, target=replace(project.target, catalog="main"))

    assert project.sql_of(USERS.table) == "delta.`/w/s/users`"
    assert inside.sql_of(USERS.table) == "`main`.`s`.`users`"
    assert inside.uri_of(USERS.table) == "/w/s/users"


def test_the_text_behind_a_checksum_of_settings_is_that_of_its_model():
    model = replace(USERS, fingerprint=Fingerprint("a", "b", "set"), outside="file: seeds")

    assert a_project(model).outside(Fingerprint("x", "y", "set")) == "file: seeds"
    assert a_project(model).outside(Fingerprint("x", "y", "other")) == ""


def test_code_is_shown_with_the_names_of_tables_and_a_function_as_its_text():
    odd = a_source("events", table=TableName("raw", "odd name"))
    project = replace(a_project(USERS), sources={"raw.events": odd})
    function = replace(USERS, function=PythonFunction(len, "def users(): ...", {}))

    assert project.shown_sql(USERS) == "select * from raw.`odd name`"
    assert project.view_sql(USERS, {}) == "select * from raw.`odd name`"
    assert project.shown_sql(function) == "def users(): ..."
