from __future__ import annotations

import datetime as dt

import pytest

from penstock.core.errors import UsageError
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
    warehouse: s3a://lake/shop
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
    assert project.vars == {"start_date": "2024-01-01", "n": "4", "on": "true", "more": "5"}


def test_the_first_target_is_the_default(target, tmp_path):
    assert target() == Target(
        "dev", f"{tmp_path}/warehouse", f"sqlite:///{tmp_path}/.penstock/state.db", SparkSettings()
    )


def test_a_target_of_a_cluster(target):
    assert target(target="prod") == Target(
        "prod",
        "s3a://lake/shop",
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


def test_a_project_file_without_targets_has_the_embedded_one(load, tmp_path):
    assert load({}).target.warehouse == f"{tmp_path}/warehouse"


def test_an_environment_variable_fills_in_anywhere(load):
    text = (
        "name: a\nthreads: \"{{ env_var('N', 3) }}\"\n"
        "vars: {x: \"{{ env_var('X', 'd') }}/{{ env_var('Y') }}\"}\n"
    )

    project = load({"penstock.yml": text}, environ={"Y": "y"})

    assert (project.threads, project.vars) == (3, {"x": "d/y"})
