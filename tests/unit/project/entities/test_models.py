"""Entities are models: linked, fingerprinted, read by others and by each other."""

import json

import pytest

from fakes.entity_files import KEY, PATH, document, entity, files
from penstock.core.names import InputKind, InputName
from penstock.core.strategy import Layout, OnSchemaChange

NATIVE = """\
name: x
schema: silver_aw
strategy: merge
description: all of x
tags: [daily]
entity:
  connection: aw
  systemfield_prefix: p_
  timezone: Europe/Amsterdam
  bronze: {path: /data/bronze/aw/x}
  watermark: [{column_name: SeqNr, operation: or}]
  columns:
    - {name: ID, datatype: long, fieldroles: [businesskey]}
    - {name: Order Date, newname: order_date, datatype: date}
    - {name: half, expression: ID / 2}
  transformations: ["*", {column: y, expression: ID + 1}]
  settings: {delete_missing: true, table_properties: {a.b: "1"}, on_schema_change: fail}
"""
COLUMNS = [
    {**KEY, "datatype": "long"},
    {"name": "Order Date", "newname": "order_date", "datatype": "date"},
    {"name": "half", "expression": "ID / 2"},
]
SETTINGS = {
    "delete_missing": True,
    "table_properties": {"a.b": "1"},
    "on_schema_change": "fail",
}
SAID = {
    "description": "all of x",
    "tags": ["daily"],
    "columns": COLUMNS,
    "transformations": ["*", {"column": "y", "expression": "ID + 1"}],
    "settings": SETTINGS,
}
DEFINITION = """\
merge into silver_aw.x
from /data/bronze/aw/x, slices *.parquet
select *
set y = ID + 1
column ID bigint, businesskey
column `Order Date` as order_date date
column half = ID / 2
watermark or 0 SeqNr: ${last_value}
key PK_x
hash sha256
last_seen every_run
delete_missing true
prefix p_
timezone Europe/Amsterdam"""
FUNCTION = """\
from penstock import table


@table
def m(silver_aw__x):
    return silver_aw__x
"""
VERSIONED = """\
name: m
destination: {dataset: a, table: m}
versions:
  - version: 1
    effective_from: 2024-01-01
    sql: m.sql
    schema: [{name: ID, type: INT64}]
"""
X = InputName(InputKind.MODEL, "silver_aw.x")
SCOPED = ["businesskey", "partition"]


def scoped(number, literal, **more):
    column = {"name": "adm", "expression": str(literal), "fieldroles": SCOPED}
    return entity(number, f"x{number}", columns=[KEY, column], settings={"silver_table": "s.x"})


def codes(lines):
    return [line.split(": ")[2] for line in lines]


def test_both_forms_give_equal_models(load):
    written = load(files(entity(**SAID))).models["silver_aw.x"]
    native = load({PATH: document(), "models/x.yml": NATIVE}).models["silver_aw.x"]

    assert written.query.text == DEFINITION
    assert native.query == written.query
    assert native.fingerprint == written.fingerprint
    assert (native.layout, native.on_schema_change) == (written.layout, written.on_schema_change)
    assert (native.columns, native.description, native.tags) == (
        written.columns,
        "all of x",
        ("daily",),
    )
    assert written.layout == Layout(properties={"a.b": "1"})
    assert written.on_schema_change is OnSchemaChange.FAIL
    assert [(c.name, c.type) for c in written.columns] == [
        ("ID", "bigint"),
        ("order_date", "date"),
        ("half", ""),
    ]
    assert written.entity is not None
    assert native.entity.business_keys == written.strategy.keys == ("ID",)


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        ({"columns": [*COLUMNS[:2], {"name": "half", "expression": "ID / 3"}]}, {"sql", "meaning"}),
        ({"transformations": ["*"]}, {"sql", "meaning"}),
        ({"settings": {**SETTINGS, "delete_missing": False}}, {"sql", "meaning"}),
        ({"settings": {**SETTINGS, "hash": "xxhash64"}}, {"sql", "meaning", "settings"}),
        ({"watermark": None}, {"sql", "meaning"}),
        ({"settings": {**SETTINGS, "table_properties": {}}}, {"layout"}),
        ({"description": "some of x"}, {"layout"}),
        ({"settings": {**SETTINGS, "slice_pattern": "*.pq"}}, {"sql"}),
        ({"id": 7, "group": "g", "tags": [], "meta": {"owner": "me"}}, set()),
    ],
)
def test_a_fingerprint_says_what_decides_rows(load, changes, differ):
    before = load(files(entity(**SAID))).models["silver_aw.x"].fingerprint
    said = {**entity(**SAID), **changes}

    after = load(files({k: v for k, v in said.items() if v is not None}))

    now = after.models["silver_aw.x"].fingerprint
    same = {
        "sql": now.sql == before.sql,
        "meaning": now.canonical == before.canonical,
        "settings": now.settings == before.settings,
        "layout": now.layout == before.layout,
    }
    assert {name for name, is_same in same.items() if not is_same} == differ


def test_tables_lie_in_their_folders_or_as_all_tables_do(load):
    shown = {"bronze_path": "/test__${connection}.${entity}"}
    shown["silver_table"] = "silver__${connection}.${destination}"
    secured = {"environment": {"secure_container_suffix": "-secure"}}

    plain = load(files(entity()))
    named = load(files(entity(settings=shown)))
    secure = load(files(entity(secure=True), **secured))

    assert plain.target.places == {"silver_aw.x": "/data/silver/aw/x"}
    assert plain.uri_of(plain.models["silver_aw.x"].table) == "/data/silver/aw/x"
    (model,) = named.models.values()
    assert (model.name, str(model.entity.bronze)) == (
        "silver__aw.x",
        "/data/bronze/test__aw.x, slices *.parquet",
    )
    assert named.uri_of(model.table) == f"{named.root}/warehouse/silver__aw/x"
    assert str(secure.models["silver_aw.x"].entity.bronze).startswith("/data/bronze-secure/aw/x,")


def test_tables_of_a_catalog(load):
    catalog = "name: shop\ntargets: {dev: {catalog: lake, schema_prefix: me_}}\n"
    own = {"bronze_table": "raw.${entity}", "silver_table": "lake.silver.${destination}"}
    out = {"output_method": "catalog"}

    project = load({"penstock.yml": catalog, **files(entity(settings=own), environment=out)})

    model = project.models["silver.x"]
    assert project.sql_of(model.table) == "`lake`.`me_silver`.`x`"
    assert model.query.inputs == (InputName(InputKind.EXTERNAL, "raw.x"),)
    assert (dict(project.sources), dict(project.target.places)) == ({}, {})


def test_two_tables_in_one_folder_are_an_error(findings):
    own = {"silver_path": "/a", "silver_table": None}
    two = files(entity(settings=own), entity(2, "y", settings=own))

    assert codes(findings(two)) == ["duplicate-path"]


def test_disabled_entities_are_no_models(load, findings):
    off = files(entity(enabled=False))

    assert dict(load(off).models) == {}
    reads = findings({**off, "models/m.sql": "select * from {{ ref('silver_aw.x') }}"}, hints=True)
    assert [line.partition("hint: ")[2] for line in reads] == ["that model is disabled"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("models/a/m.sql", "select * from {{ ref('silver_aw.x') }}"),
        ("models/a/m.sql", "select * from silver_aw.x"),
        ("models/a/m.sql", "select x.ID from Silver_AW.X"),
        ("models/a/m.py", FUNCTION),
        ("models/a/m.yml", VERSIONED),
    ],
)
def test_models_of_every_kind_read_entities(load, path, text):
    sql = {"models/a/m.sql": "select ID from silver_aw.x"} if path.endswith(".yml") else {}

    model = load({**files(entity()), **sql, path: text}).models["m"]

    assert (model.depends_on, model.inputs) == (("silver_aw.x",), (X,))


def test_a_target_with_a_prefix_is_read_by_the_written_name(load):
    prefixed = "name: shop\ntargets: {dev: {schema_prefix: me_}}\n"
    reader = {"models/m.sql": "select * from silver_aw.x"}

    project = load({"penstock.yml": prefixed, **files(entity()), **reader})

    assert project.models["m"].depends_on == ("silver_aw.x",)
    assert str(project.models["silver_aw.x"].table) == "me_silver_aw.x"


def test_readers_of_a_shared_table_read_it_of_all_its_entities(load):
    own = {**files(scoped(1, 950), scoped(2, 1000)), "models/m.sql": "select * from s.x"}

    project = load({**own, "models/n.sql": "select * from {{ ref('s.x@2') }}"})

    assert sorted(project.models) == ["m", "n", "s.x@1", "s.x@2"]
    assert project.models["m"].depends_on == ("s.x@1", "s.x@2")
    assert {each.name for each in project.models["n"].inputs} == {"s.x@1", "s.x@2"}
    assert project.models["s.x@1"].fingerprint != project.models["s.x@2"].fingerprint
    assert "where adm = 950" in project.models["s.x@1"].query.text


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        ({"bronze_table": "raw.events"}, InputName(InputKind.SOURCE, "raw.events")),
        ({"bronze_table": "Shop.M"}, InputName(InputKind.MODEL, "m")),
        ({"bronze_table": "raw.new"}, InputName(InputKind.SOURCE, "raw.new")),
        ({"bronze_table": "new"}, InputName(InputKind.SOURCE, "default.new")),
        ({"bronze_table": "other.raw.new"}, InputName(InputKind.EXTERNAL, "other.raw.new")),
        ({"bronze_read": "whole"}, InputName(InputKind.SOURCE, "/data/bronze/aw/x")),
        (
            {"bronze_read": "whole", "bronze_path": "/events"},
            InputName(InputKind.SOURCE, "raw.events"),
        ),
    ],
)
def test_a_whole_source_is_an_input(load, settings, read):
    more = {
        "models/m.sql": "{{ config(materialized='table') }} select 1 as ID",
        "models/s.yml": (
            "sources: [{name: raw, tables: [{name: events, path: /data/bronze/events}]}]\n"
        ),
    }

    project = load({**files(entity(settings=settings)), **more})

    model = project.models["silver_aw.x"]
    assert model.query.inputs == (read,)
    assert model.depends_on == (("m",) if read.kind is InputKind.MODEL else ())
    assert json.loads(model.query.canonical)["read"] == read.name


def test_a_source_that_nobody_declared_is_made_for_the_entity(load):
    two = (entity(n, f"x{n}", settings={"bronze_table": "raw.t"}) for n in (1, 2))
    folder = entity(3, "x3", settings={"bronze_read": "whole"})

    project = load(files(*two, folder))

    assert [
        (name, each.path.removeprefix(project.root), each.format, each.may_be_delta)
        for name, each in project.sources.items()
    ] == [
        ("raw.t", "/warehouse/raw/t", "delta", False),
        ("/data/bronze/aw/x3", "/data/bronze/aw/x3", "parquet", True),
    ]


def test_an_entity_reads_the_table_of_another_one_by_its_folder(load):
    native = "name: y\nschema: gold\nstrategy: full\nentity:\n"
    native += "  bronze: {path: /data/silver/aw/x, read: whole}\n"

    project = load({**files(entity()), "models/y.yml": native})

    assert project.models["gold.y"].depends_on == ("silver_aw.x",)


def test_the_table_of_a_disabled_entity_is_a_source_where_it_lies(load):
    reader = entity(2, "y", settings={"bronze_table": "silver_aw.x"})

    source = load(files(entity(enabled=False), reader)).sources["silver_aw.x"]

    assert source.path == "/data/silver/aw/x"


def test_an_entity_that_reads_itself_is_a_cycle(findings):
    own = files(entity(settings={"bronze_table": "silver_aw.x"}))

    assert [line for line in findings(own) if "warning" not in line] == [
        (
            "entities/x.json:18: error: dependency-cycle: silver_aw.x → silver_aw.x "
            "(entities/x.json:18)"
        )
    ]


def test_a_whole_source_lies_in_one_place(findings):
    table = entity(settings={"bronze_table": "raw.x_${today}"})
    folder = entity(2, "y", settings={"bronze_read": "whole", "bronze_path": "/${today}"})

    assert codes(findings(files(table, folder))) == ["volatile-source", "volatile-source"]


def test_a_frame_of_python_is_no_bronze(findings):
    frame = "from penstock import model\n\n\n@model\ndef m(spark):\n    return spark.range(1)\n"
    own = files(entity(settings={"bronze_table": "shop.m"}))

    assert codes(findings({**own, "models/m.py": frame})) == ["not-materialised"]


def test_as_of_reads_a_historic_entity_by_its_own_columns(load):
    reader = {"models/m.sql": "select * from {{ as_of(ref('silver_aw.x'), '2024-01-01') }}"}

    project = load({**files(entity(process="historic")), **reader})

    assert "p_ValidFrom" in project.shown_sql(project.models["m"])


def test_checks_stand_on_the_model(load, findings):
    checks = {"on_failure": "block", "after": [{"type": "row_count", "min": 1}]}

    model = load(files(entity(checks=checks))).models["silver_aw.x"]

    assert [each.name for each in model.all_checks] == ["row_count"]
    assert str(model.checks.on_failure) == "block"
    odd = files(entity(checks=[{"type": "not_null", "columns": ["ID"], "colour": 1}]))
    assert codes(findings(odd)) == ["unknown-key"]


def test_values_of_secret_variables_are_in_no_text_of_an_entity(load):
    columns = [KEY, {"name": "made", "expression": "concat(ID, '{{ env_var('API_TOKEN') }}')"}]
    settings = {"folder": "{{ env_var('LAKE_SAS') }}", "bronze_path": "/${settings_folder}/x"}
    written = files(entity(columns=columns, settings=settings))

    model, other = (
        load(written, environ={"API_TOKEN": token, "LAKE_SAS": 'q"9'}).models["silver_aw.x"]
        for token in ("hunter2", "hunter3")
    )

    query = model.query
    assert "column made = concat(ID, '***')" in query.text
    assert "/***/x, slices" in query.text
    assert [
        word for word in ("hunter2", 'q"9', 'q\\"9') if word in query.text + query.canonical
    ] == []
    assert model.fingerprint == other.fingerprint
