"""Versioned models for tests: one that is whole, and what a project means without its places."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from penstock.core.findings import Location
from penstock.core.project import Project

DAILY = """\
name: daily
destination:
  dataset: mart
  table: daily
  partition: {field: date, type: DAY}
versions:
  - version: 1
    effective_from: 2024-01-01
    sql: daily.sql
    schema:
      - {name: date, type: DATE}
      - {name: users, type: INT64}
"""
SQL = "SELECT date, users FROM raw.events WHERE date = @partition_date"
ONLY: Mapping[str, str] = {"models/daily.yaml": DAILY, "models/daily.sql": SQL}
"""One model, without a finding; `versions` ends the file."""


def daily(old: str = "", new: str = "", *, more: str = "") -> dict[str, str]:
    """Give the one model with a part of its YAML replaced, and with lines at its end."""
    assert old in DAILY, old
    text = DAILY.replace(old, new, 1) + more
    return {k: v for k, v in ONLY.items() if "daily.sql" in text} | {"models/daily.yaml": text}


def version(number: int, since: str, *lines: str, schema: str = "${{ versions.1.schema }}") -> str:
    """Give one more version; `lines` stand beside its keys."""
    said = [f"version: {number}", f"effective_from: {since}", "sql: daily.sql"]
    said += [f"schema: {schema}"] if schema else []
    first, *rest = [*said, *lines]
    return "".join([f"  - {first}\n", *(f"    {line}\n" for line in rest)])


def meaning(project: Project) -> object:
    """Give all that a project says but where it says it, and the bytes of its YAML files."""
    return _meant(project.models)


def _meant(value: object) -> object:
    if isinstance(value, Location):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (each.name for each in dataclasses.fields(value))
        return [
            type(value).__name__,
            *(_meant(getattr(value, name)) for name in names if name not in ("yaml", "source")),
        ]
    if isinstance(value, Mapping):
        return {key: _meant(item) for key, item in value.items()}
    return [_meant(item) for item in value] if isinstance(value, tuple) else value
