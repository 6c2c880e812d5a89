"""penstock.yml, sources and seeds as values. Shapes were checked before."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from penstock.core.checks import CheckSettings, OnFailure
from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location
from penstock.core.model import ColumnDoc, Seed, Source, SourceFreshness
from penstock.core.names import TableName
from penstock.core.project import LeaseSettings, SparkSettings, Target
from penstock.project.files.parsed import YamlFile
from penstock.project.files.references import SEED_FORMATS, check_name
from penstock.project.files.values import Path as At
from penstock.project.files.values import (
    Plain,
    did_you_mean,
    duration_of,
    is_true,
    list_of,
    mapping_of,
    pairs_of,
    text_of,
)

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SQLITE = "sqlite:///"
DEFAULT_TARGET = "dev"


@dataclass(frozen=True, slots=True)
class Settings:
    """What penstock.yml says, for one target."""

    name: str
    target: Target
    targets: tuple[str, ...]
    folders: tuple[str, ...] = ("models",)
    vars: Mapping[str, Plain] = field(default_factory=dict)
    defaults: Mapping[str, Plain] = field(default_factory=dict)
    system_columns: Mapping[str, Plain] = field(default_factory=dict)
    threads: int = 4
    lease: LeaseSettings = LeaseSettings()
    immutable: bool = False
    max_partitions: int | None = None
    checks: CheckSettings = CheckSettings()


def settings_of(
    tree: Plain, root: Path, target: str | None, environ: Mapping[str, str]
) -> Settings:
    """Read the settings; the target is the argument, else PENSTOCK_TARGET, else the first.

    Raises `UsageError` `unknown-target`.
    """
    document = mapping_of(tree)
    targets = mapping_of(document.get("targets")) or {DEFAULT_TARGET: {}}
    names = tuple(targets)
    chosen = target or environ.get("PENSTOCK_TARGET") or names[0]
    if chosen not in targets:
        raise UsageError(
            "unknown-target",
            f"no target is called {chosen!r}; there are: {', '.join(names)}",
            hint=did_you_mean(chosen, names) or f"--target {names[0]}",
        )
    return Settings(
        name=text_of(document.get("name")) or root.name,
        target=_target(chosen, targets[chosen], root, is_first=chosen == names[0]),
        targets=names,
        folders=tuple(text_of(f) for f in list_of(document.get("models"))) or ("models",),
        vars=mapping_of(document.get("vars")),
        defaults=mapping_of(document.get("defaults")),
        system_columns=mapping_of(document.get("system_columns")),
        threads=_number(document.get("threads"), 4),
        lease=_lease(mapping_of(document.get("lease"))),
        immutable=is_true(document.get("immutable")),
        max_partitions=_number(mapping_of(document.get("sync")).get("max_partitions"), 0) or None,
        checks=_checks(mapping_of(document.get("checks"))),
    )


def absolute(path: str, folder: Path) -> str:
    """Give a URI as it is and a path as an absolute one, seen from `folder`.

    >>> absolute("s3a://lake/shop", Path("/p"))
    's3a://lake/shop'
    """
    return path if _URI.match(path) else os.path.normpath(folder / path)


def defaults_for(
    defaults: Mapping[str, Plain], path: str, folders: Sequence[str]
) -> list[Mapping[str, Plain]]:
    """Give the layers of defaults for a file, the most specific last.

    Folders are seen from the project root or from a model folder.
    """
    plain = {key: value for key, value in defaults.items() if not key.endswith("/")}
    seen = [path] + [path.removeprefix(f"{f}/") for f in folders if path.startswith(f"{f}/")]
    matching = [k for k in defaults if k.endswith("/") and any(s.startswith(k) for s in seen)]
    return [plain, *(mapping_of(defaults[key]) for key in sorted(matching, key=len))]


def _target(name: str, tree: Plain, root: Path, *, is_first: bool) -> Target:
    shape = mapping_of(tree)
    spark = mapping_of(shape.get("spark"))
    return Target(
        name=name,
        warehouse=absolute(text_of(shape.get("warehouse")) or "warehouse", root),
        state=_state(text_of(shape.get("state")) or "sqlite", root, "" if is_first else name),
        spark=SparkSettings(
            master=text_of(spark.get("master")) or "local[*]",
            driver_memory=text_of(spark.get("driver_memory")) or "2g",
            conf=pairs_of(spark.get("conf")),
        ),
        catalog=text_of(shape.get("catalog")),
        schema_prefix=text_of(shape.get("schema_prefix")),
    )


def _state(url: str, root: Path, target: str) -> str:
    if url == "sqlite":
        file = f"state.{target}.db" if target else "state.db"
        return f"{_SQLITE}{root / '.penstock' / file}"
    if url.startswith(_SQLITE) and not url.startswith(f"{_SQLITE}/"):
        return f"{_SQLITE}{absolute(url.removeprefix(_SQLITE), root)}"
    return url


def _lease(tree: Mapping[str, Plain]) -> LeaseSettings:
    default = LeaseSettings()
    length, heartbeat = duration_of(tree.get("length")), duration_of(tree.get("heartbeat"))
    return LeaseSettings(
        default.length if length is None else length,
        default.heartbeat if heartbeat is None else heartbeat,
    )


def _checks(tree: Mapping[str, Plain]) -> CheckSettings:
    default = CheckSettings()
    mode, days = default.on_failure, default.quarantine_days
    with suppress(ValueError):
        mode = OnFailure(text_of(tree.get("on_failure")).lower() or mode)
    with suppress(ValueError):
        days = max(0, int(text_of(tree.get("quarantine_days")) or days))
    sample = tree.get("sample")
    return CheckSettings(
        on_failure=mode,
        sample=default.sample if sample is None else is_true(sample),
        quarantine_days=days,
        staging_schema=text_of(tree.get("staging_schema")) or default.staging_schema,
    )


def _number(value: Plain, default: int) -> int:
    try:
        return max(1, int(text_of(value)))
    except ValueError:
        return default


__all__ = ["Settings", "absolute", "defaults_for", "is_true", "settings_of"]


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
