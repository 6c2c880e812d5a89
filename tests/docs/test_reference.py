"""The reference shows every key there is, and each of its examples is one that penstock takes."""

import sys
from collections import Counter

import pytest
import yaml

from docs.shell import ROOT
from penstock.core.checks.check_type import check_types
from penstock.core.errors import ProjectError
from penstock.project.editor_schemas import described, descriptions, section_name
from penstock.project.load import load_project
from penstock.project.settings.check_keys import section_of
from penstock.project.unit_tests.load import load_unit_tests

sys.path.insert(0, str(ROOT / "scripts"))
import reference

PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
SECTIONS = reference.all_sections()
MISFITS = {"unknown-key", "bad-value", "missing-key", "yaml-syntax", "python-import-failed"}
FILES = yaml.safe_load("""
penstock.yml: {name: shop}
seeds/countries.csv: "code,people\\n1,2\\n"
models/m.sql: "{{ config(materialized='table') }} select 1 as id, 1 as n"
models/users.sql: select 1 as id
models/more.yml:
  models: [{name: m, columns: [{name: id, type: INT}]}]
  snapshots:
    - {name: h, relation: ref('m'), config: {strategy: check, unique_key: id, check_cols: all}}
  sources:
    - name: raw
      tables:
        - {name: orders, freshness: {column: at, warn_after: {count: 1, period: day}}}
        - {name: events}
  seeds: [{name: countries}]
models/of_dbt.yml:
  models:
    - name: users
      config: {contract: {enforced: true}}
      columns: [{name: id, type: INT}]
      constraints: [{type: check, expression: id > 0}]
      versions: [{v: "1", columns: [{name: id, type: INT}]}]
models/uses.yml:
  groups: [{name: finance, owner: {name: Ann}}]
  exposures: [{name: weekly, type: dashboard, owner: {name: Ann}, config: {enabled: true}}]
models/v.yaml:
  name: v
  destination: {dataset: stats, table: t, partition: {field: date}}
  versions:
    - version: 1
      effective_from: "2024-01-01"
      sql: &sql select 1 as n, @partition_date as date
      schema: [{name: n, type: INT}, {name: date, type: DATE}]
      sql_revisions: [{revision: 1, effective_from: "2024-02-01", sql: *sql}]
entities/sales.yml:
  environment:
    name: dev
    root_folder: /data
    timezone: UTC
    bronze_path: /${connection}/${entity}
    silver_path: /${connection}/${destination}
  connections: [{name: sales}]
  entities:
    - id: 1
      name: orders
      connection: sales
      processtype: merge
      columns: [{name: a}, {name: ID, datatype: long, fieldroles: [businesskey]}]
      watermark: [{column_name: changed}]
      transformations: [{column: city, expression: lower(city)}]
models/silver/prices.yml:
  name: prices
  schema: silver
  strategy: merge
  entity:
    bronze: {path: /data/prices}
    columns: [{name: ID, datatype: long, fieldroles: [businesskey]}]
    transformations: [{deduplicate: {order_by: [ID]}}]
sessions/web.yml:
  strategy: sessions
  name: web
  events: raw.events
  conversions: [{name: buy, when: x}]
  funnel: [{step: buy, when: x}]
  channels: [{channel: Mail, when: x}]
tests/users.csv: "id,n\n1,1\n"
tests/fixtures/users.csv: "id,n\n1,1\n"
tests/m.yml:
  unit_tests:
    - name: t
      model: m
      given: {inputs: {}, target: {rows: [{id: 1}]}}
      expect: {row_count: 1}
""")
MORE, VERSIONED, SALES, TESTS = (
    "models/more.yml",
    "models/v.yaml",
    "entities/sales.yml",
    "tests/m.yml",
)
ALWAYS = ("penstock.yml", "models/m.sql", "models/users.sql")
BY = {
    MORE: ("seeds/countries.csv",),
    TESTS: (VERSIONED, "tests/users.csv", "tests/fixtures/users.csv"),
    "models/silver/prices.yml": (SALES,),
    "sessions/web.yml": (MORE, "seeds/countries.csv"),
}
"""The files that a project has beside the one with the example."""
PLACES = {
    "penstock": ("penstock.yml", ""),
    "target": ("penstock.yml", "targets.dev"),
    "spark": ("penstock.yml", "targets.dev.spark"),
    "storage": ("penstock.yml", "targets.dev.storage.s3://lake"),
    "openlineage": ("penstock.yml", "openlineage"),
    "openlineage_transport": ("penstock.yml", "openlineage.transport"),
    "on_failure": ("penstock.yml", "on_failure"),
    "lease": ("penstock.yml", "lease"),
    "sync": ("penstock.yml", "sync"),
    "checks_settings": ("penstock.yml", "checks"),
    "entities_settings": ("penstock.yml", "entities"),
    "system_columns": ("penstock.yml", "system_columns"),
    "models": (MORE, ""),
    "documented_model": (MORE, "models.0"),
    "header": (MORE, "models.0.config"),
    "nested_snapshot": (MORE, "models.0.config.snapshot"),
    "retention": (MORE, "models.0.config.retention"),
    "column": (MORE, "models.0.columns.0"),
    "contract": (MORE, "models.0.config.contract"),
    "hooks": ("models/more.yml", "models.0.config.hooks"),
    "group": ("models/uses.yml", "groups.0"),
    "exposure": ("models/uses.yml", "exposures.0"),
    "exposure_config": ("models/uses.yml", "exposures.0.config"),
    "constraint": ("models/of_dbt.yml", "models.0.constraints.0"),
    "model_version": ("models/of_dbt.yml", "models.0.versions.0"),
    "version_column": ("models/of_dbt.yml", "models.0.versions.0.columns.0"),
    "snapshot_meta_column_names": (MORE, "snapshots.0.config.snapshot_meta_column_names"),
    "checks": (MORE, "models.0.checks"),
    "check": (MORE, "models.0.checks.0"),
    "snapshot_entry": (MORE, "snapshots.0"),
    "source": (MORE, "sources.0"),
    "source_table": (MORE, "sources.0.tables.0"),
    "freshness": (MORE, "sources.0.tables.0.freshness"),
    "period": (MORE, "sources.0.tables.0.freshness.warn_after"),
    "seed": (MORE, "seeds.0"),
    "seed_config": (MORE, "seeds.0.config"),
    "versioned": (VERSIONED, ""),
    "destination": (VERSIONED, "destination"),
    "partition": (VERSIONED, "destination.partition"),
    "version": (VERSIONED, "versions.0"),
    "revision": (VERSIONED, "versions.0.sql_revisions.0"),
    "field": (VERSIONED, "versions.0.schema.0"),
    "schema_changes": (VERSIONED, "versions.0.schema"),
    "dependency": (VERSIONED, "depends_on.0"),
    "entities": (SALES, ""),
    "entities.environment": (SALES, "environment"),
    "entities.connections": (SALES, "connections.0"),
    "entities.entities": (SALES, "entities.0"),
    "entities.entities.columns": (SALES, "entities.0.columns.0"),
    "entities.entities.watermark": (SALES, "entities.0.watermark.0"),
    "entities.entities.transformations": (SALES, "entities.0.transformations.0"),
    "entities.entities.transformations.deduplicate": (
        "models/silver/prices.yml",
        "entity.transformations.0.deduplicate",
    ),
    "entities.entities.settings": (SALES, "entities.0.settings"),
    "entity": ("models/silver/prices.yml", ""),
    "entity.entity": ("models/silver/prices.yml", "entity"),
    "entity.entity.bronze": ("models/silver/prices.yml", "entity.bronze"),
    "sessions": ("sessions/web.yml", ""),
    "sessions.passthrough": ("sessions/web.yml", "passthrough"),
    "sessions.passthrough.sessions": ("sessions/web.yml", "passthrough.sessions"),
    "sessions.passthrough.users": ("sessions/web.yml", "passthrough.users"),
    "sessions.conversions": ("sessions/web.yml", "conversions.0"),
    "sessions.funnel": ("sessions/web.yml", "funnel.0"),
    "sessions.channels": ("sessions/web.yml", "channels.0"),
    "unit_tests": (TESTS, ""),
    "test": (TESTS, "unit_tests.0"),
    "run": (TESTS, "unit_tests.0.runs.0"),
    "given": (TESTS, "unit_tests.0.given"),
    "given_input": (TESTS, "unit_tests.0.given.0"),
    "given.state": (TESTS, "unit_tests.0.given.state"),
    "table": (TESTS, "unit_tests.0.given.target"),
    "expect": (TESTS, "unit_tests.0.expect"),
    "error": (TESTS, "unit_tests.0.expect_error"),
}
"""Where the keys of each section stand."""
FROM_OUTSIDE = ("table", "path", "format", "options")
INSTEAD = {
    **dict.fromkeys((("destination", "schema"), ("destination", "dataset")), ("dataset", "schema")),
    **dict.fromkeys((("destination", "name"), ("destination", "table")), ("table", "name")),
    **dict.fromkeys((("version", "source"), ("revision", "source")), ("sql",)),
    ("version", "revisions"): ("sql_revisions",),
    ("test", "expect_error"): ("expect",),
    ("test", "runs"): ("expect", "given"),
    **dict.fromkeys([("table", form) for form in ("csv", "sql", "file")], ("rows",)),
    **dict.fromkeys([("expect", key) for key in ("fixture", "format")], ("row_count",)),
    ("run", "expect_error"): ("expect",),
    ("entity.entity.bronze", "table"): ("path",),
    **{
        ("entities.entities.transformations", key): ("column", "expression")
        for key in ("where", "deduplicate")
    },
    ("snapshot_entry", "sql"): ("relation",),
}
"""What gives way to an example."""
OF_RANGE = {"type": "RANGE", "start": 0, "end": 10, "interval": 5}
BESIDE = {
    ("header", "overwrite"): {"partition_by": ["id"], "materialized": "table"},
    ("storage", "access_key_id"): {"secret_access_key": "b"},
    ("storage", "secret_access_key"): {"access_key_id": "a"},
    ("storage", "session_token"): {"access_key_id": "a", "secret_access_key": "b"},
    **{
        ("openlineage_transport", key): {"type": "http", "url": "http://a"}
        for key in ("endpoint", "auth", "compression", "custom_headers", "verify", "append")
    },
    ("openlineage_transport", "type"): {"url": "http://a"},
    ("openlineage_transport", "url"): {"type": "http"},
    ("openlineage_transport", "log_file_path"): {"type": "file"},
    ("check", "empty"): {"type": "not_null", "column": "id"},
    ("test", "version"): {"model": "v", "partition": "2024-01-01"},
    ("error", "contains"): {"code": "duplicate-keys"},
    ("given_input", "columns"): {"input": "this", "rows": [{"id": 1}]},
    ("given_input", "format"): {"input": "this", "rows": "id,n\n1,1\n"},
    ("given_input", "fixture"): {"input": "this", "format": "csv"},
    **{("given_input", form): {"input": "this"} for form in ("rows", "csv", "sql", "file")},
    ("given_input", "input"): {"rows": [{"id": 1}]},
    ("expect", "format"): {"rows": "id,n\n1,1\n"},
    ("expect", "fixture"): {"format": "csv"},
    ("field", "fields"): {"type": "RECORD"},
    **{("schema_changes", key): {"base": []} for key in ("remove", "modify", "add")},
    **{("dependency", key): {"model": "m"} for key in ("partitions", "column")},
    **{("partition", key): OF_RANGE for key in ("start", "end", "interval")},
}
"""What an example needs beside it."""


def put(tree, path, example, gone=()):
    """Give a tree in which the keys of an example stand at a path, beside what is there."""
    if not path:
        kept = {key: tree[key] for key in tree if key not in gone} if type(tree) is dict else {}
        return {**kept, **example}
    first, *rest = path
    if first == "0":
        head, *others = tree if isinstance(tree, list) else [None]
        return [put(head, rest, example, gone), *others]
    return {**(tree or {}), first: put((tree or {}).get(first), rest, example, gone)}


def with_example(section, key):
    """Give the files of a project in which the example of a key stands."""
    example = {**BESIDE.get((section, key), {}), key: described(section, key)["example"]}
    if section == "check":
        example = {**check_with(key), **example}
    place, path = PLACES[section]
    gone = INSTEAD.get((section, key), ())
    files = {name: FILES[name] for name in (*ALWAYS, *BY.get(place, ()))}
    return {**files, place: put(FILES[place], path.split(".") if path else [], example, gone)}


def check_with(key):
    """Give what a check needs that has this key."""
    kinds = {name: section_of(name).key_set for name in check_types() if name != "sql"}
    if key == "sql":
        return {"name": "no_refunds"}
    name = next(name for name, keys in kinds.items() if key in (*keys.names, *keys.aliases))
    one = {"columns": "column", "fields": "field"} if name == "relationships" else {}
    needed = [one.get(each, each) for each in kinds[name].needed]
    given = {each: described("check", each)["example"] for each in needed}
    aliases = {*kinds[name].aliases.items(), *((b, a) for a, b in kinds[name].aliases.items())}
    return {"type": name} | {k: v for k, v in given.items() if (k, key) not in aliases}


def loaded(root, files):
    """Write a project and load it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return load_project(root, environ={}, use_cache=False)


def misfits(root, files):
    """Give what is wrong with keys and values of a project."""
    try:
        project = loaded(root, files)
    except ProjectError as error:
        found = error.findings
    else:
        found = (*project.findings, *load_unit_tests(project, lambda _: project).findings)
    return [str(each) for each in found if each.code in MISFITS]


@pytest.mark.parametrize("section", PLACES)
def test_the_examples_of_a_section_are_taken(section, tmp_path):
    wrong = {}
    for key in SECTIONS[section]:
        if found := misfits(tmp_path / key, with_example(section, key)):
            wrong[key] = found

    assert wrong == {}


@pytest.mark.parametrize("kind", ["source", "model", "table", "incremental_table"])
def test_the_options_of_a_decorator_are_taken(kind, tmp_path):
    wrong, small = {}, {name: FILES[name] for name in ALWAYS}
    for key in SECTIONS[f"python.{kind}"]:
        options = {"time_column": "n"} if kind == "incremental_table" else {}
        options |= {key: described(f"python.{kind}", key)["example"]}
        written = ", ".join(f"{name}={value!r}" for name, value in options.items())
        reads = "df" if kind == "source" and key in FROM_OUTSIDE else "events"
        body = f"def made({reads}):\n    return {reads}\n"
        text = f"from penstock import {kind}\n@{kind}({written})\n{body}"
        if found := misfits(
            tmp_path / key, {**small, "models/events.sql": "select 1", "models/made.py": text}
        ):
            wrong[key] = found

    assert wrong == {}


def test_nothing_is_wrong_beside_the_examples(tmp_path):
    assert loaded(tmp_path, FILES).findings == ()


def test_a_wrong_example_is_noticed(tmp_path):
    files = {**FILES, "penstock.yml": {"name": "shop", "threads": "many"}}

    said, hint = misfits(tmp_path, files)[0].split("\n")

    assert said.endswith("2:10: error: bad-value: threads is 'many'; it must be an integer >= 1")
    assert hint.startswith("  hint: ")


def test_every_section_is_shown_once():
    shown = [each for path in PAGES for each in reference.shown_sections(path.read_text("utf-8"))]

    assert Counter(shown) == Counter([*SECTIONS])
    assert set(PLACES) | {f"python.{kind}" for kind in reference.DECORATORS} == set(SECTIONS)


def test_every_key_has_a_meaning_a_default_and_an_example():
    assert all(list(reference.rows_of(section)) for section in SECTIONS)


def test_no_key_is_described_that_is_gone():
    described_keys = {(name, key) for name, keys in descriptions().items() for key in keys}
    there = {(section_name(name), key) for name, keys in SECTIONS.items() for key in keys}

    assert described_keys - there == set()
