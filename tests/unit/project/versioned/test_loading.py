from __future__ import annotations

import datetime as dt
import hashlib
import json

import pytest

from fakes.fixture_f import DAILY, FIXTURE_F, WEEKLY
from fakes.versioned_cases import ONLY, SQL, daily, meaning, version
from penstock.core.partition import Grain, Grid
from penstock.core.schema import Column
from penstock.core.strategy import Layout
from penstock.project import json_schemas, load_project
from penstock.strategies.partition import Partition
from penstock.strategies.table import Table
from penstock.strategies.view import View

DATE, USERS = Column("date", "date"), Column("unique_users", "bigint")
ALIASES = {
    "dataset:": "schema:",
    "table:": "name:",
    "sql:": "source:",
    "INT64": "bigint",
    "sql_revisions:": "revisions:",
}


def test_DV1_the_fixture_loads(load):
    project = load(FIXTURE_F)

    one, two, three = project.models["daily_user_stats"].versions
    assert list(project.models) == ["daily_user_stats", "monthly_report", "weekly_summary"]
    assert two.schema == one.schema
    assert two.schema_text == one.schema_text
    assert three.schema.columns == (DATE, USERS, Column("events", "bigint"))
    assert {n: m.depends_on for n, m in project.models.items()} == {
        "daily_user_stats": (),
        "monthly_report": ("weekly_summary",),
        "weekly_summary": ("daily_user_stats",),
    }


def test_DV1_alias_keys_give_an_equal_project(load):
    aliased = dict(FIXTURE_F)
    for path in (DAILY, WEEKLY):
        for word, alias in ALIASES.items():
            aliased[path] = (
                aliased[path]
                .replace(f"  {word}", f"  {alias}")
                .replace(f" {word}\n", f" {alias}\n")
            )
        aliased[path] = aliased[path].replace("${{ versions.1.source", "${{ versions.1.schema")

    assert aliased[DAILY] != FIXTURE_F[DAILY]
    assert meaning(load(aliased)) == meaning(load(FIXTURE_F))


def test_DV1_a_key_beside_its_alias_is_a_conflict(findings):
    files = daily("    sql: daily.sql\n", "    sql: daily.sql\n    source: daily.sql\n")

    assert findings(files) == [
        (
            "models/daily.yaml:10:5: error: alias-conflict: "
            "sql and source are one key; the other is on line 9"
        )
    ]


def test_DV2_misspelt_keys_of_two_files_come_together(findings):
    a = "name: a\ndestination: {dataset: m, table: a}\nversions:\n  - version: 1\n"
    a += "    effective_from: 2024-01-01\n    sql: select 1 as one\n    schema:\n"
    a += "      - {name: one, type: INT}\ndepend_on: [b]\n"
    b = "name: b\ndestination: {dataset: m, table: b}\n" + "# \n" * 6 + "versions:\n"
    b += "  - version: 1\n    schema: [{name: one, type: INT}]\n    effective_form: 2024-01-01\n"
    b += "    sql: select 1 as one\n"

    assert findings({"models/a.yaml": a, "models/b.yaml": b}, hints=True) == [
        (
            "models/a.yaml:9:1: error: unknown-key: unknown key 'depend_on'\n"
            "  hint: did you mean 'depends_on'?"
        ),
        "models/b.yaml:10:5: error: missing-key: 'effective_from' is missing",
        (
            "models/b.yaml:12:5: error: unknown-key: unknown key 'effective_form'\n"
            "  hint: did you mean 'effective_from'?"
        ),
    ]


def test_every_key_of_a_model_arrives(load):
    more = (
        "description: Users by day.\nowner: ann\ntags: [core]\nmeta: {team: web}\n"
        "start: 2024-02-01\nready_after: 90m\nbatch_size: 7\nimmutable: true\n"
    )

    model = load(daily(more=more)).models["daily"]

    assert model.strategy == Partition(
        "date",
        "date",
        Grid(Grain.DAY),
        dt.date(2024, 2, 1),
        dt.timedelta(minutes=90),
        7,
    )
    assert (model.description, model.tags, model.immutable) == ("Users by day.", ("core",), True)
    assert model.config == {
        "materialized": "partition",
        "description": "Users by day.",
        "owner": "ann",
        "tags": "core",
        "meta.team": "web",
    }
    assert [(c.name, c.type) for c in model.columns] == [("date", "date"), ("users", "bigint")]


@pytest.mark.parametrize(
    ("partition", "lies"),
    [
        ("{field: date, type: day}", Layout(partition_by=("date",))),
        ("{field: date, type: MONTH}", Layout(cluster_by=("date", "users"))),
        (
            "{field: users, type: RANGE, start: 0, end: 9, interval: 3}",
            Layout(cluster_by=("users",)),
        ),
    ],
)
def test_a_table_lies_by_its_partition(load, partition, lies):
    written = f"{partition}\n  cluster: [users]"

    model = load(daily("{field: date, type: DAY}", written)).models["daily"]

    assert model.layout == lies


def test_a_written_layout_wins(load):
    partition = "{field: date}\n  cluster: [users]\n  layout: clustered"

    model = load(daily("{field: date, type: DAY}", partition)).models["daily"]

    assert model.layout == Layout(cluster_by=("date", "users"))


def test_a_model_without_a_partition_is_a_table_or_a_view(load):
    sql = {"models/daily.sql": SQL.partition(" WHERE")[0]}
    table = load({**daily("  partition: {field: date, type: DAY}\n"), **sql}).models["daily"]
    view = load(
        {**daily("  partition: {field: date, type: DAY}\n", more="strategy: view\n"), **sql}
    ).models["daily"]

    assert (table.strategy, table.grid.grain, len(table.versions)) == (Table(), Grain.WHOLE, 1)
    assert (view.strategy, len(view.versions)) == (View(), 1)


def test_the_model_is_what_its_newest_version_is(load):
    revision = "sql_revisions: [{revision: 1, effective_from: 2024-06-01, sql: select 2 as x}]"
    more = version(3, "2024-02-01") + version(2, "2024-04-01", revision)

    model = load(daily(more=more)).models["daily"]

    assert [v.number for v in model.versions] == [1, 3, 2]
    assert model.fingerprint == model.versions[2].body.fingerprint
    assert model.fingerprint.label == "v2"
    assert model.versions[2].revisions[0].fingerprint.label == "v2.r1"


def test_sql_files_that_a_model_names_are_no_models(load):
    more = (
        "    invariants:\n      before: [{name: there, sql: checks/there.sql}]\n"
        "      after: [{name: rows, type: row_count, min: 1}]\n"
    )
    files = {**daily(more=more), "models/checks/there.sql": "select * from {destination}"}

    assert list(load({**files, "models/free.sql": "select 1 as one"}).models) == ["daily", "free"]


def test_a_target_puts_its_prefix_before_the_dataset(load):
    files = {
        **ONLY,
        "models/reader.sql": "select * from mart.daily",
        "penstock.yml": "name: p\ntargets: {dev: {schema_prefix: me_}}\n",
    }

    project = load(files)

    assert str(project.models["daily"].table) == "me_mart.daily"
    assert project.models["reader"].depends_on == ("daily",)


@pytest.mark.parametrize("name", ["daily", "mart.daily", "mart.other", "MART.Daily"])
def test_depends_on_takes_names_and_tables(load, name):
    files = daily("table: daily", "table: other")
    reader = files["models/daily.yaml"].replace("name: daily", "name: reader")
    files["models/reader.yaml"] = (
        reader.replace("table: other", "table: reader") + f"depends_on: [{name}]\n"
    )

    assert load(files).models["reader"].depends_on == ("daily",)


def test_inline_sql_begins_on_its_line(load):
    files = daily("sql: daily.sql", "sql: |\n      select date, users\n      from raw.events")

    body = load(files).models["daily"].versions[0].body

    assert body.text == "select date, users\nfrom raw.events\n"
    assert body.source == body.text


def test_the_checksum_of_the_yaml_is_that_of_all_its_files(load):
    files = daily(
        "schema:\n      - {name: date, type: DATE}", "schema:\n      - ${{ file: d.yml }}"
    )
    files["models/d.yml"] = "name: date\ntype: DATE\n"

    mark = load(files).models["daily"].fingerprint

    both = files["models/daily.yaml"] + files["models/d.yml"]
    assert mark.yaml == hashlib.sha256(both.encode()).hexdigest()


def test_the_project_says_how_much_a_sync_makes_and_what_never_changes(load):
    files = {
        **daily(more="immutable: false\n"),
        "penstock.yml": "name: p\nimmutable: true\nsync: {max_partitions: 50}\n",
        "models/free.sql": "select 1 as one",
    }

    project = load(files)

    assert project.max_partitions == 50
    assert {n: m.immutable for n, m in project.models.items()} == {"daily": False, "free": True}


def test_a_warm_load_is_equal_and_opens_no_parser(load, tmp_path, monkeypatch):
    cold = load(FIXTURE_F, use_cache=True)
    for door in ("parse_sql", "parse_sql_files", "parse_yaml_file", "truncations"):
        monkeypatch.setattr(f"penstock.project.first_pass.{door}", _closed)

    assert load_project(tmp_path, environ={}) == cold


def _closed(*what: object) -> dict[str, object]:
    assert not what[0]
    return {}


def test_a_changed_include_is_seen_by_a_warm_load(load, tmp_path):
    files = daily("- {name: date, type: DATE}", "- ${{ file: d.yml }}")
    before = load({**files, "models/d.yml": "name: date\ntype: DATE\n"}, use_cache=True)
    (tmp_path / "models/d.yml").write_text("name: date\ntype: TIMESTAMP\n")

    after = load_project(tmp_path, environ={})

    kinds = [p.models["daily"].strategy.type for p in (before, after)]
    assert kinds == ["date", "timestamp"]


def test_editors_know_every_key_of_a_versioned_model():
    schema = json.loads(json_schemas()["versioned.schema.json"])

    assert {"name", "destination", "versions", "start", "checks"} <= set(schema["properties"])
    assert sorted(schema["$defs"]["destination"]["properties"]) == [
        "cluster",
        "dataset",
        "layout",
        "name",
        "partition",
        "schema",
        "table",
    ]
