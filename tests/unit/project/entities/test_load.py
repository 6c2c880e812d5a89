"""The acceptance cases of loading entities (EC, EM, EW, ED), and what the whole project says."""

import json

import pytest

from fakes.entity_files import CONNECTION, ENVIRONMENT, KEY, PATH, document, entity, files
from penstock.core.entities.entity import (
    EntityColumn,
    EntityScope,
    EntitySettings,
    FieldRole,
    RunText,
    Slices,
    WatermarkEntry,
)
from penstock.core.errors import ProjectError

SCOPED = ["businesskey", "partition", "calculated"]
NATIVE = """\
name: x
schema: silver_aw
strategy: delta
description: all of x
tags: [daily]
entity:
  connection: aw
  systemfield_prefix: p_
  timezone: Europe/Amsterdam
  bronze: {path: /data/bronze/aw/x, pattern: "*.parquet"}
  watermark: [{column_name: SeqNr, operation: or}]
  columns:
    - {name: ID, datatype: long, fieldroles: [businesskey]}
    - {name: Order Date, newname: order_date, datatype: date}
  settings: {delete_missing: true}
"""


def codes(lines):
    return [line.split(": ")[2] for line in lines]


def test_seven_findings_in_one_go_and_no_state_is_written(load, tmp_path):
    text = """\
{"environment": {"name": "dev", "root_folder": "/data", "timezone": "Europe/Amsterdam",
  "bronze_path": "/${connection}/${entity}", "silver_path": "/${connection}/${destination}"},
 "connections": [{"name": "sales"}],
 "entities": [
  {"id": 1, "name": "a", "connection": "sales", "processtype": "full", "colums": [],
   "enabled": "false", "settings": {"delete_missing": "yes"}},
  {"id": 2, "name": "b", "connection": "salse", "processtype": "merge",
   "columns": [{"name": "ID", "datatype": "integr", "fieldroles": ["businesskey"]}]},
  {"id": 1, "name": "c", "name": "c", "connection": "sales", "processtype": "full"}]}
"""

    with pytest.raises(ProjectError) as caught:
        load({"entities/sales.json": text}, use_cache=True)

    assert caught.value.render().splitlines() == [
        "entities/sales.json:5:72: error: unknown-key: unknown key 'colums' ($.entities[0].colums)",
        "  hint: did you mean 'columns'?",
        (
            'entities/sales.json:6:15: error: bad-value: enabled is the text "false" '
            "($.entities[0].enabled)"
        ),
        "  hint: write false without quotes",
        (
            'entities/sales.json:6:55: error: bad-value: delete_missing is the text "yes" '
            "($.entities[0].settings.delete_missing)"
        ),
        "  hint: write true without quotes",
        (
            'entities/sales.json:7:40: error: unknown-connection: no connection is called "salse" '
            "($.entities[1].connection)"
        ),
        "  hint: did you mean 'sales'?",
        (
            'entities/sales.json:8:43: error: unknown-type: datatype "integr" of column "ID" '
            "is not known ($.entities[1].columns[0].datatype)"
        ),
        "  hint: did you mean 'integer'?",
        (
            "entities/sales.json:9:10: error: duplicate-entity-id: id 1 is that of two entities, "
            "here and at entities/sales.json:5:3 ($.entities[2].id)"
        ),
        "  hint: give one of them another id",
        (
            "entities/sales.json:9:26: error: duplicate-key: key 'name' is written twice; "
            "the first is on line 9"
        ),
        "  hint: delete one of the two",
    ]
    assert caught.value.exit_code == 1
    assert not list(tmp_path.glob(".penstock/state*"))


def test_datatypes_in_whatever_letters(load, findings):
    written = ["int", "BIGINT", "decimal(18, 2)", "decimal"]
    columns = [KEY, *({"name": f"c{n}", "datatype": kind} for n, kind in enumerate(written))]

    project = load(files(entity(columns=columns)))

    types = [column.type for column in project.entities["silver_aw.x"].columns]
    assert types == ["", "int", "bigint", "decimal(18,2)", "decimal(38,18)"]
    assert [(f.code, str(f.severity)) for f in project.findings] == [
        ("decimal-without-precision", "warning")
    ]
    odd = [{**KEY, "datatype": "decimal(10)"}, {"name": "a", "datatype": ""}]
    assert codes(findings(files(entity(columns=odd)))) == ["bad-value", "unknown-type"]


def test_settings_of_a_connection_stand_under_those_of_an_entity(load):
    lower = {"a": 1, "t": [1, 2], "o": {"x": 1, "y": 2}, "s": "low", "delete_missing": True}
    upper = {"t": [3], "o": {"y": 9}, "a": None, "delete_missing": False}

    project = load(files(entity(settings=upper), connections=[{**CONNECTION, "settings": lower}]))

    found = project.entities["silver_aw.x"]
    assert found.settings == EntitySettings()
    assert found.names == {
        "connection": "aw",
        "entity": "x",
        "destination": "x",
        "settings_s": "low",
        "settings_delete_missing": "false",
    }


@pytest.mark.parametrize(("word", "process"), [("delta", "merge"), ("Merge", "merge")])
def test_the_words_of_processtype(load, word, process):
    project = load(files(entity(process=word)))

    assert project.entities["silver_aw.x"].process == process


def test_another_word_is_a_bad_value(findings):
    assert findings(files(entity(process="upsert")), hints=True) == [
        (
            'entities/x.json:20:19: error: bad-value: processtype is the text "upsert" '
            "($.entities[0].processtype)\n  hint: one of full, merge, delta, historic"
        )
    ]


def test_one_entity_in_two_files_that_are_equal_to_the_byte(findings):
    text = document(entity(), connections=[])
    connections = document(environment={}, connections=[CONNECTION])

    found = findings({"entities/a.json": text, "entities/b/c.json": text, PATH: connections})

    assert codes(found) == ["duplicate-destination", "duplicate-entity-id"]
    assert "here and at entities/a.json:12:3" in found[1]


def test_an_environment_in_two_files_must_be_the_same(load, findings):
    other = "environment: {name: dev}\n"
    differs = "environment: {name: dev, timezone: UTC}\n"

    assert list(load({**files(entity()), "entities/y.yml": other}).entities) == ["silver_aw.x"]
    assert findings({**files(entity()), "entities/y.yml": differs}, hints=True) == [
        (
            "entities/y.yml:1:36: error: conflicting-environment: timezone is another one here "
            "than at entities/x.json:5:15 ($.environment.timezone)\n"
            "  hint: keep one, or let entities.environment of penstock.yml decide"
        )
    ]


def test_layers_are_folders_below_the_root(load):
    found = load(files(entity())).entities["silver_aw.x"]

    assert found.bronze == Slices(RunText("/data/bronze/aw/x"), "*.parquet")
    assert (found.path, str(found.table)) == ("/data/silver/aw/x", "silver_aw.x")


def test_both_forms_of_an_entity_give_equal_values(load):
    columns = [
        {**KEY, "datatype": "long"},
        {"name": "Order Date", "newname": "order_date", "datatype": "date"},
    ]
    said = {"description": "all of x", "tags": ["daily"], "settings": {"delete_missing": True}}
    written = load(files(entity(columns=columns, **said))).entities["silver_aw.x"]

    native = load({PATH: document(), "models/x.yml": NATIVE}).entities["silver_aw.x"]

    assert native.id is None
    assert native.path == ""
    fields = [name for name in written.__slots__ if name not in ("id", "path", "where")]
    assert {name: getattr(native, name) for name in fields} == {
        name: getattr(written, name) for name in fields
    }
    assert native.columns == (
        EntityColumn("ID", "", "bigint", frozenset({FieldRole.BUSINESS_KEY})),
        EntityColumn("Order Date", "order_date", "date"),
    )
    assert native.watermark == (WatermarkEntry("SeqNr", "or", 0, "${last_value}"),)


def test_no_password_of_a_setting_is_in_a_finding_or_the_cache(load, tmp_path):
    secret = {"sql_password": "s3cret", "bronze_path": "/${settings_nope}"}

    with pytest.raises(ProjectError) as caught:
        load(files(entity(settings=secret)), use_cache=True)

    cache = tmp_path / ".penstock" / "cache" / "parse.jsonl"
    assert "s3cret" not in caught.value.render()
    assert not cache.exists() or "s3cret" not in cache.read_text()


def test_odd_texts_are_data_or_bad_values(load, findings):
    odd = {"name": "it's `odd` \"\n", "newname": "od`d", "fieldroles": ["businesskey"]}
    prefixed = files(entity(), environment={"systemfield_prefix": "it's"})
    broken = files(entity(columns=[KEY, {"name": "y", "expression": "it's"}]))

    found = load(files(entity(columns=[odd]))).entities["silver_aw.x"]

    assert found.business_keys == ("od`d",)
    assert codes(findings(prefixed)) == ["bad-value"]
    assert codes(findings(broken)) == ["not-a-row-expression"]


def test_entities_of_one_table_are_told_apart_by_a_literal(load, findings):
    def one(number, literal, roles=SCOPED):
        column = {"name": "Administration", "expression": literal, "fieldroles": roles}
        settings = {"silver_table": "silver.t", "silver_path": None}
        return entity(number, f"x{number}", columns=[KEY, column], settings=settings)

    project = load(files(one(1, "950"), one(2, "1000")))

    assert {name: each.scope for name, each in project.entities.items()} == {
        "silver.t@1": EntityScope("Administration", "950"),
        "silver.t@2": EntityScope("Administration", "1000"),
    }
    assert {str(each.table) for each in project.entities.values()} == {"silver.t"}
    same, no_partition = (one(2, "950.0"), one(2, "1000", ["businesskey"]))
    assert codes(findings(files(one(1, "950"), same))) == ["duplicate-destination"]
    assert codes(findings(files(one(1, "950"), no_partition))) == ["duplicate-destination"]


def test_a_merge_without_key_is_found_at_load(findings):
    assert findings(files(entity(columns=None)), hints=True) == [
        (
            'entities/x.json:16:3: error: no-business-key: "x" is merge and has no business key '
            '($.entities[0])\n  hint: name one: "fieldroles": ["businesskey"]'
        )
    ]


def test_deletes_that_are_never_inferred_are_warnings(findings):
    said = {"settings": {"delete_missing": True}}

    assert codes(findings(files(entity(watermark=None, **said)))) == [
        "delete-missing-without-watermark"
    ]
    assert codes(findings(files(entity(process="full", **said)))) == ["delete-missing-on-full"]
    assert codes(findings(files(entity(**said)))) == ["last-value-without-lookback"]


def test_watermark_expressions_are_read_at_load(load, findings):
    def written(expression, kind=None):
        column = {"name": "SeqNr", **({"datatype": kind} if kind else {})}
        watermark = [{"column_name": "SeqNr", "expression": expression}]
        return files(entity(columns=[KEY, column], watermark=watermark))

    fine = [load(written(text)) for text in ("'${last_value}'", "${last_value}")]
    assert [each.findings for each in fine] == [(), ()]
    bad = (
        ("${minus_hours(last_value, 2)}", "date"),
        ("${LocalDate.parse(last_value)}", None),
        ("now() - 1", None),
        ("x${last_value}", None),
    )
    found = [findings(written(*each)) for each in bad]
    assert [codes(each) for each in found] == [["bad-expression"]] * 4
    assert found[0][0].startswith("entities/x.json:")
    assert "($.entities[0].watermark[0].expression)" in found[0][0]


def test_penstock_yml_lays_its_environment_over_that_of_documents(load):
    project = """\
name: shop
entities: {environment: {root_folder: lake, systemfield_prefix: q_}}
targets:
  dev: {}
  prod: {entities: {environment: {root_folder: "/lake/"}}}
"""
    own = {"penstock.yml": project, **files(entity())}

    dev, prod = load(own), load(own, target="prod")

    assert dev.entities["silver_aw.x"].path == f"{dev.root}/lake/silver/aw/x"
    assert prod.entities["silver_aw.x"].path == "/lake/silver/aw/x"
    assert dev.environment.prefix == "q_"
    differs = {"entities/y.yml": "environment: {systemfield_prefix: r_}"}
    assert load({**own, **differs}).environment.prefix == "q_"


def test_what_may_stand_in_a_broken_document_is_no_second_finding(findings):
    shared = document()

    found = findings(
        {"entities/a.json": "{", "entities/b.json": document(entity(), connections=[])}
    )

    assert codes(found) == ["json-syntax"]
    assert codes(findings({"entities/a.json": b"\xff"})) == ["not-utf8"]
    assert codes(findings({"entities/a.json": shared, PATH: "null"})) == ["bad-value"]


def test_the_table_of_an_entity_is_that_of_no_model(findings):
    model = "{{ config(schema='silver_aw') }}\nselect 1 as id"

    found = findings({**files(entity()), "models/x.sql": model})

    assert codes(found) == ["duplicate-destination"]


def test_a_project_without_entities_reads_none(load):
    project = load({"models/a.sql": "select 1 as id"})

    assert (project.entities, project.environment.timezone) == ({}, "UTC")


def test_a_warm_load_gives_the_same_entities(load):
    made = {"name": "y", "expression": "upper(ID) || uuid()"}
    own = files(entity(columns=[KEY, made], transformations=["*", "rand() AS r"]))

    cold, warm = load(own, use_cache=True), load(own, use_cache=True)

    assert warm.entities == cold.entities
    assert warm.findings == cold.findings
    assert warm.entities["silver_aw.x"].volatile == {"y", "r"}


def test_values_of_the_environment_are_filled_in(load):
    own = files(entity(), environment={"root_folder": "{{ env_var('LAKE') }}/x"})

    found = load(own, environ={"LAKE": "/lake"}).entities["silver_aw.x"]

    assert found.path == "/lake/x/silver/aw/x"


def test_the_checks_of_an_entity_are_read(findings):
    own = files(entity(checks=[{"type": "row_count"}, 3]))

    assert codes(findings(own)) == ["missing-bounds", "bad-value"]


def test_a_document_of_yaml_says_the_same(load):
    as_yaml = "environment: " + json.dumps(ENVIRONMENT) + "\nconnections: [{name: aw}]\n"
    as_yaml += f"entities:\n  - {json.dumps(entity())}\n"

    of_json = load(files(entity())).entities
    assert load({PATH: "{}", "entities/a/b.yaml": as_yaml}).entities == of_json


def test_a_document_beside_models_is_told_where_it_belongs(findings):
    assert findings({"models/x.yml": "entities: []\n"}, hints=True) == [
        (
            "models/x.yml:1:1: error: unknown-key: 'entities' is a key of documents of entities\n"
            "  hint: move it into entities/; a file beside models is one entity, under entity:"
        )
    ]
