"""The use case `schema`: JSON Schemas of the YAML files, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def schemas() -> Mapping[str, str]:
    """Give each schema as text by its file name."""
    from penstock.project.editor_schemas import json_schemas  # imports pydantic

    return json_schemas()


def write_schemas(folder: Path) -> tuple[str, ...]:
    """Write the schemas into a folder; give the file names."""
    found = schemas()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(found)
