"""A project for one test: every input is a source in the test's own folder."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

from fakes.builders import a_model, a_project, a_source, reads
from penstock.app.unit_testing.world import world_of
from penstock.core.checks.check import Check, Checks, Phase
from penstock.core.findings import Location
from penstock.core.model import Body, Fingerprint, Version
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.query import Query, mention, present
from penstock.core.strategy import WindowSettings
from penstock.project.unit_tests.definition import UnitRun, UnitTest
from penstock.strategies.append import Append
from penstock.strategies.checks.types import NotNull, Relationships
from penstock.strategies.partition import Partition

HERE = Location("tests/t.yml")
FOLDER = Path("/w/t0")
TEST = UnitTest("t", "log", HERE, (UnitRun(),))


def test_models_and_external_tables_become_sources_under_their_own_names() -> None:
    users, other = reads("users")[0], InputName(InputKind.EXTERNAL, "far.other")
    text = f"select * from {mention(users, alias='users')} join {mention(other)}"
    strategy = Append(WindowSettings("at"))
    log = a_model("log", strategy=strategy, query=Query(text, text, text, (users, other)))
    project = a_project(log, a_model("users"), a_source("events"))

    world = world_of(project, TEST, {users: (), other: ()}, FOLDER)

    model = world.models["log"]
    assert list(world.models) == ["log"]
    assert model.query.text == (
        "select * from `penstock:source:users:bare:users` join `penstock:source:far.other`"
    )
    assert [(name, str(s.table), s.path) for name, s in world.sources.items()] == [
        ("users", "s.users", "/w/t0/inputs/i0"),
        ("far.other", "far.other", "/w/t0/inputs/i1"),
    ]
    assert (model.strategy, model.depends_on, model.table) == (strategy, (), TableName("s", "log"))
    assert (world.target.warehouse, world.target.state) == ("/w/t0/warehouse", "")


def test_tombstones_of_a_given_history_are_left_out_where_it_has_any() -> None:
    kept = reads("kept")[0]
    text = f"select * from {mention(kept)} where {present(kept)}"
    log = a_model("log", query=Query(text, text, text, (kept,), deleted_flags=((kept, "gone"),)))
    project = a_project(log, a_model("kept"))

    texts = [
        world_of(project, TEST, {kept: names}, FOLDER).models["log"].query.text
        for names in ((), ("id", "GONE"))
    ]

    assert texts == [
        "select * from `penstock:source:kept` where true",
        "select * from `penstock:source:kept` where coalesce(`gone`, false) = false",
    ]


def test_a_check_that_reads_what_nobody_gives_is_left_out() -> None:
    users, codes = reads("users")[0], reads("codes")[0]
    asks = Check(
        "far", Phase.AFTER, Relationships(("a",), codes, ("b",), "s.codes"), HERE, reads=(codes,)
    )
    near = Check(
        "near", Phase.AFTER, Relationships(("a",), users, ("b",), "s.users"), HERE, reads=(users,)
    )
    own = Check("own", Phase.AFTER, NotNull(("a",)), HERE)
    log = replace(a_model("log", "users"), checks=Checks(after=(asks, near, own)))
    project = a_project(log, a_model("users"), a_model("codes"))

    checks = world_of(project, TEST, {users: ()}, FOLDER).models["log"].checks

    assert [check.name for check in checks.after] == ["near", "own"]
    assert checks.after[0].rule.to == InputName(InputKind.SOURCE, "users")


def a_version(number: int, since: dt.date, table: str) -> Version:
    (read,) = reads(table)
    query = Query(*(f"select * from {mention(read)}",) * 3, (read,))
    sign = Fingerprint(f"sql-{number}", "", version=number, effective_from=since)
    return Version(number, Body(query, sign, query.text, "", HERE))


def test_versions_that_no_run_is_for_go_where_their_inputs_are_not_given() -> None:
    old = a_version(1, dt.date(2024, 1, 1), "raw.old")
    new = a_version(2, dt.date(2024, 6, 1), "raw.new")
    days = Partition("d", "date", Grid(Grain.DAY))
    changes = {"query": new.body.query, "fingerprint": new.body.fingerprint}
    log = a_model("log", strategy=days, versions=(old, new), **changes)
    project = a_project(log, a_source("old"), a_source("new"))

    def kept(first: str, last: str, *given: str) -> tuple[list[int], int]:
        test = replace(TEST, runs=(UnitRun(first=first, last=last),))
        tables = dict.fromkeys(reads(*given), ())
        model = world_of(project, test, tables, FOLDER).models["log"]
        return [each.number for each in model.versions], model.fingerprint.version

    assert kept("2024-05-31", "2024-05-31", "raw.old") == ([1], 1)
    assert kept("2024-05-31", "2024-05-31", "raw.old", "raw.new") == ([1, 2], 2)
    assert kept("2024-06-01", "2024-06-01", "raw.new") == ([2], 2)
    assert kept("2024-05-31", "2024-06-01", "raw.old") == ([1, 2], 2)
