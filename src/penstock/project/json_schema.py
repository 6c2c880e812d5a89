"""JSON Schemas of the YAML files, for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping

from penstock.project.shapes import ModelsFileShape, ProjectShape
from penstock.project.unit_tests.editor_schema import unit_tests_schema
from penstock.project.versioned.editor_schema import versioned_schema


def json_schemas() -> Mapping[str, str]:
    """Give each schema as text by the name it is written under; sorted keys, so it is stable."""
    project = ProjectShape.model_json_schema(by_alias=True)
    folders = {"$ref": "#/$defs/ModelConfigShape"}
    project["$defs"]["DefaultsShape"] = {
        **project["$defs"]["ModelConfigShape"],
        "patternProperties": {"/$": folders},
    }
    project["properties"]["defaults"] = {"$ref": "#/$defs/DefaultsShape"}
    models = ModelsFileShape.model_json_schema(by_alias=True)
    models["properties"]["unit_tests"] = {"type": "array"}  # unit_tests.schema.json has more
    return {
        "models.schema.json": json.dumps(models, indent=2, sort_keys=True) + "\n",
        "penstock.schema.json": json.dumps(project, indent=2, sort_keys=True) + "\n",
        "unit_tests.schema.json": json.dumps(unit_tests_schema(), indent=2, sort_keys=True) + "\n",
        "versioned.schema.json": json.dumps(versioned_schema(), indent=2, sort_keys=True) + "\n",
    }
