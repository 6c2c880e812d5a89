from __future__ import annotations

import datetime as dt

import pytest

from penstock.core.errors import UsageError
from penstock.core.findings import Location
from penstock.core.model import ColumnDoc, Source, SourceFreshness
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import LeaseSettings, SparkSettings, Target

SHOP = """\
name: shop
version: 1
models: [models]
vars: {start_date: 2024-01-01, n: 3, on: true}
defaults:
  table_properties: {delta.enableChangeDataFeed: "false"}
  "snapshots/":
    tags: [history]
system_columns: {prefix: _ps_, case: snake}
checks: {on_failure: flag}
threads: 8
immutable: false
sync: {max_partitions: 500}
session_paths: [sessions]
entities: {environment: {}}
lease: {length: 2m, heartbeat: PT5S}
targets:
  dev:
    spark: {master: "local[*]", driver_memory: 2g, conf: {}}
    warehouse: warehouse
    schema_prefix: ""
    state: sqlite
  test: {warehouse: ../elsewhere, state: "sqlite:///own.db"}
  prod:
    spark: {master: "spark://head:7077", conf: {spark.executor.memory: 4g, spark.cores: 2}}
    catalog: main
    warehouse: /lake/shop
    schema_prefix: p_
    state: "postgresql+psycopg://penstock:{{ env_var('PW') }}@db/penstock"
  spare: {}
"""


@pytest.fixture
def target(load):
    def chosen(**how):
        environ = {"PW": "x", **how.pop("environ", {})}
        return load({"penstock.yml": SHOP}, environ=environ, **how).target

    return chosen


def test_every_setting_is_read(load):
    project = load({"penstock.yml": SHOP}, environ={"PW": "x"}, vars={"n": "4", "more": "5"})

    assert (project.name, project.threads) == ("shop", 8)
    assert project.lease == LeaseSettings(dt.timedelta(minutes=2), dt.timedelta(seconds=5))
    assert project.targets == ("dev", "test", "prod", "spare")
    assert project.vars == {"start_date": "2024-01-01", "n": "4", "on": True, "more": "5"}


def test_the_first_target_is_the_default(target, tmp_path):
    assert target() == Target(
        "dev", f"{tmp_path}/warehouse", f"sqlite:///{tmp_path}/.penstock/state.db", SparkSettings()
    )


def test_a_target_of_a_cluster(target):
    assert target(target="prod") == Target(
        "prod",
        "/lake/shop",
        "postgresql+psycopg://penstock:x@db/penstock",
        SparkSettings(
            "spark://head:7077", "2g", {"spark.executor.memory": "4g", "spark.cores": "2"}
        ),
        "main",
        "p_",
    )


def test_other_targets_have_a_state_of_their_own(target, tmp_path):
    assert target(target="spare").state == f"sqlite:///{tmp_path}/.penstock/state.spare.db"
    assert target(target="test").state == f"sqlite:///{tmp_path}/own.db"
    assert target(target="test").warehouse == f"{tmp_path.parent}/elsewhere"


def test_the_argument_beats_the_environment_beats_the_first(target):
    environ = {"PENSTOCK_TARGET": "test"}

    assert target(environ=environ).name == "test"
    assert target(environ=environ, target="spare").name == "spare"


def test_an_unknown_target_names_the_targets(target):
    with pytest.raises(UsageError) as caught:
        target(target="prd")

    assert caught.value.render() == (
        "error: unknown-target: no target is called 'prd'; there are: dev, test, prod, spare\n"
        "  hint: did you mean 'prod'?"
    )


def test_variables_of_a_target_win_over_those_of_the_project_and_the_command_over_both(load):
    text = (
        "name: a\nvars: {days: 3, region: eu, x: 1}\n"
        "targets: {dev: {}, prod: {vars: {days: 30, region: us}}}\n"
    )

    def variables(target, **given):
        return load({"penstock.yml": text}, target=target, vars=given).vars

    assert variables("dev") == {"days": 3, "region": "eu", "x": 1}
    assert variables("prod") == {"days": 30, "region": "us", "x": 1}
    assert variables("prod", days=7) == {"days": 7, "region": "us", "x": 1}


def test_a_project_file_without_targets_has_the_embedded_one(load, tmp_path):
    assert load({}).target.warehouse == f"{tmp_path}/warehouse"


def test_an_environment_variable_fills_in_anywhere(load):
    text = (
        "name: a\nthreads: \"{{ env_var('N', 3) }}\"\n"
        "vars: {x: \"{{ env_var('X', 'd') }}/{{ env_var('Y') }}\"}\n"
    )

    project = load({"penstock.yml": text}, environ={"Y": "y"})

    assert (project.threads, project.vars) == (3, {"x": "d/y"})


RAW = """\
version: 2
sources:
  - name: raw
    loaded_at_field: seen_at
    freshness: {warn_after: {count: 12, period: hour}, error_after: {count: 2, period: day}}
    tables:
      - name: events
        description: What happened
        path: ../../landing/events
        format: csv
        options: {header: true}
        columns: [{name: created_at, type: TIMESTAMP}]
        freshness: {column: created_at, error_after: 2 days}
        partition_column: created_date
      - name: users
      - {name: lake, path: "/bucket/x", format: parquet}
"""


def test_every_setting_of_a_source_is_read(load, tmp_path):
    events = load({"models/deep/s.yml": RAW}).sources["raw.events"]

    assert events == Source(
        table=TableName("raw", "events"),
        where=Location("models/deep/s.yml", 7, 9),
        path=f"{tmp_path}/landing/events",
        format="csv",
        options={"header": "true"},
        columns=(ColumnDoc("created_at", "", "TIMESTAMP"),),
        description="What happened",
        freshness=SourceFreshness("created_at", None, dt.timedelta(days=2)),
        partition_column="created_date",
    )


def test_a_delta_source_without_path_lies_in_the_warehouse_and_inherits_freshness(load, tmp_path):
    sources = load({"models/s.yml": RAW}).sources

    assert sources["raw.users"].path == f"{tmp_path}/warehouse/raw/users"
    assert sources["raw.users"].freshness == SourceFreshness(
        "seen_at", dt.timedelta(hours=12), dt.timedelta(days=2)
    )
    assert sources["raw.lake"].path == "/bucket/x"


def test_a_catalog_keeps_its_own_tables(load):
    project = "name: shop\ntargets: {dev: {catalog: main}}\n"
    files = {
        "penstock.yml": project,
        "models/s.yml": RAW,
        "models/a.sql": "select * from main.raw.users",
    }

    loaded = load(files)

    assert loaded.sources["raw.users"].path == ""
    assert loaded.models["a"].query.inputs == (InputName(InputKind.SOURCE, "raw.users"),)


@pytest.mark.parametrize(
    "text",
    ["{{ source('raw', 'users') }}", "{{ source('RAW', 'Users') }}", "raw.users", "`RAW.users`"],
)
def test_a_source_is_found_by_call_and_by_name(load, text):
    model = load({"models/s.yml": RAW, "models/a.sql": f"select * from {text}"}).models["a"]

    assert model.query.inputs == (InputName(InputKind.SOURCE, "raw.users"),)
    assert model.depends_on == ()


def test_an_unknown_source_names_the_nearest(findings):
    files = {"models/s.yml": RAW, "models/a.sql": "select *\nfrom {{ source('raw', 'user') }}"}

    assert findings(files, hints=True) == [
        (
            "models/a.sql:2: error: unknown-reference: no source is called 'raw.user'\n"
            "  hint: did you mean 'raw.users'?"
        )
    ]


def test_a_source_declared_twice_names_both_places(findings):
    files = {
        "models/a.yml": RAW,
        "models/b.yml": "sources: [{name: RAW, tables: [{name: events}]}]\n",
    }

    assert findings(files) == [
        (
            "models/b.yml:1:32: error: duplicate-source: "
            "source RAW.events is declared here and in models/a.yml:7:9"
        )
    ]


def test_a_freshness_that_is_no_duration_is_a_finding(findings):
    text = RAW.replace("2 days", "soon").replace("period: day", "period: month")

    assert [f.partition(": ")[2] for f in findings({"models/a.yml": text})] == [
        (
            "error: bad-value: sources.freshness.error_after.period is 'month'; "
            "it must be one of minute, hour, day"
        ),
        (
            "error: bad-value: sources.tables.freshness.error_after is 'soon'; "
            "it must be a duration such as 90m, 36h or 2 days"
        ),
    ]


SEEDS = """\
seeds:
  - name: country
    config: {schema: geo, column_types: {code: STRING}}
    columns: [{name: code, description: ISO, tests: [unique]}]
"""


def test_seeds_are_files_that_models_refer_to(load, tmp_path):
    files = {
        "seeds/country.csv": "code\nDE\n",
        "seeds/more/rates.csv": "a\n",
        "seeds/seeds.yml": SEEDS,
        "models/a.sql": "select * from {{ ref('country') }} join more.rates",
    }

    project = load(files)

    seed = project.seeds["country"]
    assert (seed.table, seed.path, seed.format) == (
        TableName("geo", "country"),
        f"{tmp_path}/seeds/country.csv",
        "csv",
    )
    assert seed.columns == (ColumnDoc("code", "ISO", "STRING", ("unique",)),)
    assert project.seeds["rates"].table == TableName("more", "rates")
    assert project.models["a"].query.inputs == (
        InputName(InputKind.MODEL, "country"),
        InputName(InputKind.MODEL, "rates"),
    )
    assert project.models["a"].depends_on == ()


def test_a_described_seed_without_a_file_is_a_finding(findings):
    assert findings({"models/s.yml": SEEDS}) == [
        "models/s.yml:2:5: error: unknown-seed: no file under seeds/ is called country",
    ]


def test_a_seed_and_a_model_may_not_share_a_name(findings):
    files = {"seeds/a.csv": "x\n", "models/s/A.sql": "select 1"}

    assert findings(files) == [
        "seeds/a.csv:1: error: duplicate-model: 'a' is defined in models/s/A.sql and seeds/a.csv"
    ]
