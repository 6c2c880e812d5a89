"""Sources and seeds: YAML entries to values."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.core.findings import Finding, Location
from penstock.core.model import ColumnDoc, Seed, Source, SourceFreshness
from penstock.core.names import TableName
from penstock.core.project import Target
from penstock.project.files.discovery import SEED_FORMATS, check_name
from penstock.project.files.parsed import YamlFile
from penstock.project.files.values import Path as At
from penstock.project.files.values import (
    Plain,
    duration_of,
    list_of,
    mapping_of,
    pairs_of,
    text_of,
)
from penstock.project.settings.project import Settings, absolute


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """One item of a list in a YAML file: its content and where each key stands."""

    file: YamlFile
    path: At
    tree: Mapping[str, Plain]

    @property
    def where(self) -> Location:
        """Where the entry begins."""
        return self.file.place(*self.path)

    @property
    def name(self) -> str:
        """What the entry calls itself."""
        return text_of(self.tree.get("name"))


def entries(file: YamlFile, tree: Mapping[str, Plain], key: str) -> list[YamlEntry]:
    """Give the items of a top-level list; items without a name were reported already."""
    found = (YamlEntry(file, (key, i), mapping_of(t)) for i, t in enumerate(list_of(tree.get(key))))
    return [entry for entry in found if entry.name]


def sources_of(entry: YamlEntry, root: Path, target: Target) -> list[tuple[At, Source]]:
    """Give the tables of one source entry, each with its place in the file's tree.

    A Delta table without a path lies in the warehouse.
    """
    return [
        (
            (*entry.path, "tables", index),
            _source(entry, index, mapping_of(table), root, target),
        )
        for index, table in enumerate(list_of(entry.tree.get("tables")))
        if text_of(mapping_of(table).get("name"))
    ]


def seeds_of(
    root: Path, paths: Sequence[str], documented: Mapping[str, YamlEntry], settings: Settings
) -> tuple[list[Seed], list[Finding]]:
    """Give every seed file with what YAML says of it; an entry without a file is a finding."""
    seeds, findings = [], []
    for path in paths:
        name = PurePosixPath(path).stem
        bad = check_name("seed", name, Location(path))
        if bad:
            findings.append(bad)
            continue
        seeds.append(_seed(root, path, documented.get(name), settings))
    known = {seed.name for seed in seeds}
    for name, entry in documented.items():
        if name not in known:
            sentence = f"no file under seeds/ is called {name}"
            findings.append(Finding(entry.where, "unknown-seed", sentence))
    return seeds, findings


def column_docs(tree: Plain) -> tuple[ColumnDoc, ...]:
    """Read a list of columns; tests keep only their names."""
    return tuple(
        ColumnDoc(
            text_of(column.get("name")),
            text_of(column.get("description")),
            text_of(column.get("data_type") or column.get("type")),
            tuple(
                text_of(next(iter(test), "") if isinstance(test, Mapping) else test)
                for test in (*list_of(column.get("tests")), *list_of(column.get("data_tests")))
            ),
        )
        for column in (mapping_of(item) for item in list_of(tree))
        if text_of(column.get("name"))
    )


def _source(
    entry: YamlEntry, index: int, table: Mapping[str, Plain], root: Path, target: Target
) -> Source:
    name = TableName(entry.name, text_of(table.get("name")))
    where = entry.file.place(*entry.path, "tables", index)
    form = text_of(table.get("format") or entry.tree.get("format")) or "delta"
    path = text_of(table.get("path"))
    if path:
        path = absolute(path, root / PurePosixPath(entry.file.path).parent)
    elif form.lower() == "delta" and not target.catalog:
        path = f"{target.warehouse.rstrip('/')}/{name.schema}/{name.table}"
    return Source(
        table=name,
        where=where,
        path=path,
        format=form.lower(),
        options=pairs_of(table.get("options")),
        columns=column_docs(table.get("columns")),
        description=text_of(table.get("description")).strip(),
        freshness=_freshness(table, entry.tree),
        partition_column=text_of(table.get("partition_column")),
    )


def _freshness(table: Mapping[str, Plain], source: Mapping[str, Plain]) -> SourceFreshness | None:
    asked = mapping_of(table.get("freshness") or source.get("freshness"))
    loaded_at = table.get("loaded_at_field") or source.get("loaded_at_field")
    column = text_of(asked.get("column") or loaded_at)
    if not asked or not column:
        return None
    warn, error = (_age(asked.get(key)) for key in ("warn_after", "error_after"))
    return SourceFreshness(column, warn, error)


def _age(value: Plain) -> dt.timedelta | None:
    if isinstance(value, Mapping):
        value = f"{text_of(value.get('count'))} {text_of(value.get('period'))}"
    return duration_of(value)


def _seed(root: Path, path: str, entry: YamlEntry | None, settings: Settings) -> Seed:
    tree: Mapping[str, Plain] = entry.tree if entry else {}
    config = mapping_of(tree.get("config"))
    pure = PurePosixPath(path)
    folder = pure.parent.name if len(pure.parts) > 2 else settings.name  # noqa: PLR2004  seeds/file
    schema = settings.target.schema_prefix + (text_of(config.get("schema")) or folder)
    types = pairs_of(config.get("column_types"))
    columns = {column.name: column for column in column_docs(tree.get("columns"))}
    for name, kind in types.items():
        known = columns.get(name, ColumnDoc(name))
        columns[name] = ColumnDoc(name, known.description, kind, known.tests)
    return Seed(
        name=pure.stem,
        table=TableName(schema, text_of(config.get("alias")) or pure.stem),
        where=entry.where if entry else Location(path),
        path=str(root / path),
        format=SEED_FORMATS[pure.suffix],
        digest=_digest(root / path),
        columns=tuple(columns.values()),
    )


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
