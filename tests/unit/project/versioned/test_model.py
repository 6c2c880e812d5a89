from __future__ import annotations

from fakes.fixture_f import FIXTURE_F
from fakes.versioned_cases import ONLY, daily, version
from penstock.core.columns.schema import Column
from penstock.project.load import load_project

DATE, USERS = Column("date", "date"), Column("unique_users", "bigint")


def test_the_fixture_loads(load):
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


def test_inline_sql_begins_on_its_line(load):
    files = daily("sql: daily.sql", "sql: |\n      select date, users\n      from raw.events")

    body = load(files).models["daily"].versions[0].body

    assert body.text == "select date, users\nfrom raw.events\n"
    assert body.source == body.text


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
    for door in (
        "sql.sql_file.parse_sql_files",
        "sql.sql_file.parse_plain_sql",
        "settings.yaml_file.parse_yaml_file",
    ):
        monkeypatch.setattr(f"penstock.project.{door}", _closed)

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
