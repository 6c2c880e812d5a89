from __future__ import annotations

import json

from penstock.project import json_schemas


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
