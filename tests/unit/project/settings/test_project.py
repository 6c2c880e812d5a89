from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import UsageError
from penstock.core.project import LeaseSettings, SparkSettings, Target
from penstock.project.files.values import parse_duration

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


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "name: a\nthreads: 0\n",
            "2:10: error: bad-value: threads is 0; it must be an integer >= 1",
        ),
        ("name: a\nthreads: x\n", "2:10: error: bad-value: threads is 'x'; it must be an integer"),
        ("name: my shop\n", "1:7: error: bad-name: 'my shop' cannot name a project"),
        ("threads: 1\n", "1:1: error: missing-key: 'name' is missing"),
        (
            "name: a\nname: b\n",
            "2:1: error: duplicate-key: key 'name' is written twice; the first is on line 1",
        ),
        (
            "name: [\n",
            "2:1: error: yaml-syntax: expected the node content, but found '<stream end>'",
        ),
        ("- 1\n", "1:1: error: bad-value: the document must be a mapping"),
        (
            "name: a\nmodels: [../b]\n",
            "2:10: error: path-outside-project: models: '../b' lies outside of the project",
        ),
        ("name: a\nmodels: [nope]\n", "2:10: error: bad-value: models: there is no folder 'nope'"),
        (
            "name: a\ntargets:\n  dev:\n    warehose: x\n",
            "4:5: error: unknown-key: unknown key 'warehose'",
        ),
        ("name: a\ndefaults:\n  tag: x\n", "3:3: error: unknown-key: unknown key 'tag'"),
        (
            "name: a\ndefaults:\n  'x/':\n    overwrite: no\n",
            "4:16: error: bad-value: overwrite is false; it must be one of all or partitions",
        ),
        (
            "name: a\nlease: {length: 60}\n",
            (
                "2:17: error: bad-value: lease.length is 60; "
                "it must be a duration such as 90m, 36h or 2 days"
            ),
        ),
        (
            "name: a\ntargets:\n  dev: {state: \"{{ env_var('URL') }}\"}\n",
            "3:16: error: missing-env-var: the environment variable URL is not set",
        ),
        (
            "name: a\ntargets:\n  dev: {spark: {conf: {db.password: [1]}}}\n",
            (
                "3:37: error: bad-value: targets.dev.spark.conf.db.password is a list; "
                "it must be a text"
            ),
        ),
        (
            "name: a\ntargets:\n  dev: {catalog: {password: hunter2}}\n",
            "3:18: error: bad-value: targets.dev.catalog is a mapping; it must be a text",
        ),
        (
            "name: a\ntargets:\n  dev: {spark: 'x://a:hunter2@b'}\n",
            "3:16: error: bad-value: targets.dev.spark is 'x://a:***@b'; it must be a mapping",
        ),
    ],
)
def test_mistakes_of_the_project_file(findings, text, finding):
    assert findings({"penstock.yml": text}) == [f"penstock.yml:{finding}"]


def test_an_environment_variable_fills_in_anywhere(load):
    text = (
        "name: a\nthreads: \"{{ env_var('N', 3) }}\"\n"
        "vars: {x: \"{{ env_var('X', 'd') }}/{{ env_var('Y') }}\"}\n"
    )

    project = load({"penstock.yml": text}, environ={"Y": "y"})

    assert (project.threads, project.vars) == (3, {"x": "d/y"})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("36h", 129600),
        ("2 days", 172800),
        ("1 day", 86400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("2 weeks", 1209600),
        ("45 seconds", 45),
        ("PT36H", 129600),
        ("P1DT12H", 129600),
        ("P2W", 1209600),
        ("PT0.5S", 0.5),
    ],
)
def test_durations(text, seconds):
    assert parse_duration(text) == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    ["", "90", "m", "2 months", "1h 2h", "P", "PT", "P1M", "-1h", "1y", "h1", "9" * 20 + "d"],
)
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.integers(0, 10_000), st.sampled_from(["m", "h", "d", "w", " minutes", " hours", " days"]))
def test_a_duration_is_its_number_of_units(count, unit):
    assert parse_duration(f"{count}{unit}") == count * parse_duration(f"1{unit}")
