"""Documents of entities as tests write them: entity `x`, connection `aw`, prefix `p_`."""

import json

ENVIRONMENT = {
    "name": "dev",
    "root_folder": "/data",
    "timezone": "Europe/Amsterdam",
    "systemfield_prefix": "p_",
    "bronze_path": "/${connection}/${entity}",
    "silver_path": "/${connection}/${destination}",
}
KEY = {"name": "ID", "fieldroles": ["businesskey"]}
WATERMARK = {"column_name": "SeqNr", "operation": "or", "expression": "'${last_value}'"}
CONNECTION = {"name": "aw"}
PATH = "entities/x.json"


def entity(number=1, name="x", process="merge", **said):
    """Give one entity with a key and a watermark, unless others are said; None takes a key out."""
    own = {"id": number, "name": name, "connection": "aw", "processtype": process}
    own |= {"columns": [KEY], "watermark": [WATERMARK] * (process != "full"), **said}
    return {key: value for key, value in own.items() if value is not None}


def document(*entities, environment=None, connections=(CONNECTION,), **more):
    """Give a document as JSON; `environment` is put over the usual one."""
    shared = {**ENVIRONMENT, **(environment or {})}
    said = {"environment": shared, "connections": [*connections], "entities": [*entities]}
    return json.dumps({**said, **more}, indent=1)


def files(*entities, **more):
    """Give the files of a project with one document."""
    return {PATH: document(*entities, **more)}
