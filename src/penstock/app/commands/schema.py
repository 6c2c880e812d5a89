"""The use case `schema`: JSON Schemas of the YAML files, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.project.first_pass import json_schemas


def schemas() -> Mapping[str, str]:
    """Give each schema as text by its file name."""
    return json_schemas()


def write_schemas(folder: Path) -> tuple[str, ...]:
    """Write the schemas into a folder; give the file names."""
    found = schemas()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(found)
