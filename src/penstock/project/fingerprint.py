"""Fingerprints: what code made some rows (spec/drift.md §4)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

from penstock.core.model import ColumnDoc, Fingerprint
from penstock.core.strategy import Layout, Strategy
from penstock.project.link import Linked
from penstock.project.surroundings import digest


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a table and its columns."""

    description: str = ""
    columns: tuple[ColumnDoc, ...] = ()


def fingerprint(linked: Linked, strategy: Strategy, layout: Layout, said: Said) -> Fingerprint:
    """Give the checksums of a model's code, and of how its table lies.

    `linked.shown` is `Project.shown_sql`, followed by the incremental branch where that differs.
    """
    return Fingerprint(
        sql=digest(linked.shown),
        canonical=digest(linked.query.canonical),
        settings=digest(settings_text(strategy, layout)),
        layout=digest(layout_text(layout, said)),
        parser=parser_version(),
    )


@cache
def parser_version() -> str:
    """Give the version of sqlglot, which decides what canonical SQL looks like."""
    return version("sqlglot")


def layout_text(layout: Layout, said: Said) -> str:
    """Write how a table lies and what is said of it as JSON with sorted keys."""
    parts = {
        "partition_by": layout.partition_by,
        "cluster_by": layout.cluster_by,
        "properties": dict(layout.properties),
        "description": said.description,
        "columns": [[c.name, c.description] for c in said.columns if c.description],
    }
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))


def settings_text(strategy: Strategy, layout: Layout) -> str:
    """Write the settings that change rows as JSON with sorted keys.

    Descriptions, tags, clustering and properties are in none: they change no row. PartitionSettings
    columns are, where they decide which rows are replaced. Column names stand in small letters.

    >>> from penstock.strategies.table import Table
    >>> settings_text(Table(), Layout(cluster_by=("a",)))
    '{"strategy":"table"}'
    """
    parts = {"strategy": strategy.name, **strategy.fingerprint(layout)}
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))
