from __future__ import annotations

import json
import re

from penstock.project.editor_schemas import json_schemas, sections


def test_editors_know_every_key_of_a_versioned_model():
    schema = json.loads(json_schemas()["versioned.schema.json"])

    assert {"name", "destination", "versions", "start", "checks"} <= set(schema["properties"])
    assert sorted(schema["$defs"]["destination"]["properties"]) == [
        "cluster",
        "dataset",
        "deletion_vectors",
        "layout",
        "name",
        "partition",
        "schema",
        "table",
    ]


def test_the_text_of_a_schema_does_not_move_by_itself():
    for text in json_schemas().values():
        assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


TEXT = json_schemas()["unit_tests.schema.json"]


SCHEMA = json.loads(TEXT)


def test_editors_know_every_key_of_a_test_and_which_it_needs() -> None:
    test = SCHEMA["$defs"]["test"]

    assert test["required"] == ["name", "model"]
    assert test["additionalProperties"] is False
    assert sorted(test["properties"]) == [
        "as_of",
        "config",
        "description",
        "expect",
        "expect_error",
        "from",
        "full_refresh",
        "given",
        "key",
        "model",
        "name",
        "on_failure",
        "overrides",
        "partition",
        "runs",
        "tags",
        "to",
        "vars",
        "version",
    ]
    assert SCHEMA["$defs"]["expect"]["properties"]["status"] == {
        "enum": ["success", "failed", "skipped", "unchanged"],
        "description": "The status of the step. Left out: `success` or `unchanged`.",
        "examples": ["success"],
    }


def test_every_reference_has_a_definition() -> None:
    named = set(re.findall(r'"#/\$defs/(\w+)"', TEXT))

    assert named == set(SCHEMA["$defs"])


def test_editors_know_every_key_of_an_entity() -> None:
    document = json.loads(json_schemas()["entities.schema.json"])
    native = json.loads(json_schemas()["entity.schema.json"])

    entity = document["properties"]["entities"]["items"]
    assert entity["required"] == ["id", "name", "connection", "processtype"]
    assert entity["properties"]["processtype"]["enum"] == ["full", "merge", "delta", "historic"]
    assert entity["properties"]["settings"]["properties"]["hash"]["enum"] == ["sha256", "xxhash64"]
    assert native["required"] == ["name", "schema", "strategy", "entity"]
    assert native["properties"]["entity"]["properties"]["columns"]["type"] == "array"


def test_editors_know_every_key_of_a_session_package():
    schema = json.loads(json_schemas()["sessions.schema.json"])

    assert schema["required"] == ["strategy", "name", "events"]
    assert schema["properties"]["heartbeat"]["minimum"] == 1
    assert schema["properties"]["compat"]["enum"] == ["snowplow", None]
    assert schema["properties"]["created_tstamp"]["type"] == ["string", "null"]
    assert sorted(schema["properties"]["passthrough"]["properties"]) == [
        "page_views",
        "sessions",
        "users",
    ]


def test_every_key_says_what_it_means_and_shows_an_example():
    silent = [
        (name, section, key)
        for name, text in json_schemas().items()
        for section, tree in sections(name, json.loads(text))
        for key, said in tree["properties"].items()
        if not said.get("description", "").endswith(".")
        or "](" in said["description"]
        or "examples" not in said
    ]

    assert silent == []
