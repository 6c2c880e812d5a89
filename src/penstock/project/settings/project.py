"""penstock.yml, sources and seeds as values; errors were reported before."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from penstock.core.checks.check import CheckSettings
from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location
from penstock.core.model import ColumnDoc, Seed, Source, SourceFreshness
from penstock.core.names import TableName
from penstock.core.project import (
    LeaseSettings,
    ProjectSettings,
    Receivers,
    SparkSettings,
    Target,
)
from penstock.core.storage import S3_SCHEMES, StoreAccess, bucket_and_key, scheme_of
from penstock.project.files.discovery import SEED_FORMATS, check_name, unreadable
from penstock.project.files.nodes import node_of
from penstock.project.files.parsed import YamlFile
from penstock.project.files.sections import read_section, written_values
from penstock.project.files.values import Path as At
from penstock.project.files.values import (
    Plain,
    did_you_mean,
    duration_of,
    list_of,
    mapping_of,
    pairs_of,
    text_of,
    texts_of,
)
from penstock.project.settings.project_keys import (
    ProjectSection,
    ReceiversSection,
    TargetSection,
)
from penstock.project.settings.validation import empty

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SQLITE = "sqlite:///"
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_OF_URLS = re.compile(_ESCAPE.pattern + r"|#|/(?=/)|(?<=/)\.\.?(?=/|$)")
DEFAULT_TARGET = "dev"
SESSIONS = "sessions"


@dataclass(frozen=True, kw_only=True)
class Settings(ProjectSettings):
    """The settings of penstock.yml for one target, with values that only loading needs."""

    session_paths: tuple[str, ...] = (SESSIONS,)
    asked_vars: Mapping[str, Plain] = field(default_factory=dict)
    """The variables of the command, which are also in `vars`."""
    defaults: Mapping[str, Plain] = field(default_factory=dict)
    system_columns: Mapping[str, Plain] = field(default_factory=dict)
    immutable: bool = False
    written_hooks: Mapping[str, Plain] = field(default_factory=dict)
    """The hooks of all runs, before their tables are known."""

    def places(self, document: YamlFile) -> tuple[dict[str, Location], dict[str, Location]]:
        """Return the folders of models, and those of session packages, with their places."""
        folders = {"models": self.folders, "session_paths": self.session_paths}
        found = [{f: document.place(k, n) for n, f in enumerate(fs)} for k, fs in folders.items()]
        return found[0], found[1]


def settings_of(
    tree: Plain, root: Path, target: str | None, environ: Mapping[str, str]
) -> Settings:
    """Read the settings; the target is the argument, else PENSTOCK_TARGET, else the first.

    Invalid values fall back to their defaults. Raises `UsageError` `unknown-target`.
    """
    document = read_section(ProjectSection, node_of(tree, lambda *_: Location("")), "", [])
    targets = document.targets or {DEFAULT_TARGET: empty(TargetSection)}
    names = tuple(targets)
    chosen = target or environ.get("PENSTOCK_TARGET") or names[0]
    if chosen not in targets:
        sentence = f"no target is called {chosen!r}; there are: {', '.join(names)}"
        hint = did_you_mean(chosen, names) or f"--target {names[0]}"
        raise UsageError("unknown-target", sentence, hint=hint)
    return Settings(
        name=document.name or root.name,
        target=_target(chosen, targets[chosen], root, is_first=chosen == names[0]),
        targets=names,
        folders=document.models or ("models",),
        session_paths=document.session_paths,
        vars={**document.vars, **targets[chosen].vars},
        defaults=mapping_of(mapping_of(tree).get("defaults")),
        system_columns=mapping_of(mapping_of(tree).get("system_columns")),
        threads=document.threads,
        lease=LeaseSettings(**written_values(document.lease)),
        state_patience=document.state_patience,
        immutable=document.immutable,
        max_partitions=document.sync.max_partitions,
        checks=CheckSettings(**written_values(document.checks)),
        receivers=_receivers(document, targets[chosen], root),
        written_hooks=mapping_of(mapping_of(tree).get("hooks")),
    )


def _receivers(project: ReceiversSection, target: ReceiversSection, root: Path) -> Receivers:
    """Return the receivers of a target, else those of the project."""
    lineage = target.openlineage or project.openlineage
    failure = target.on_failure or project.on_failure
    sent = lineage.transport if lineage else None
    transport = written_values(sent) if sent else {}
    if sent is not None and sent.log_file_path:
        path = absolute(sent.log_file_path, root)
        transport |= {"log_file_path": path, "append": sent.append}
    return Receivers(
        openlineage=lineage is not None,
        namespace=lineage.namespace if lineage else "",
        transport=transport,
        webhook=failure.webhook if failure else "",
    )


def _target(name: str, section: TargetSection, root: Path, *, is_first: bool) -> Target:
    spark = section.spark
    return Target(
        name=name,
        warehouse=absolute(section.warehouse, root),
        state=state_url(section.state or "sqlite", name, root, is_first=is_first),
        spark=SparkSettings(
            master=spark.master,
            driver_memory=spark.driver_memory,
            conf=pairs_of(spark.conf),
            keep_warm=spark.keep_warm or dt.timedelta(),
        ),
        catalog=section.catalog or "",
        schema_prefix=section.schema_prefix or "",
        storage={
            prefix: StoreAccess(**written_values(each)) for prefix, each in section.storage.items()
        },
    )


def state_url(state: str, target: str, root: Path, *, is_first: bool) -> str:
    """Return the URL that `state` of a target means; relative paths start at the project.

    >>> state_url("sqlite:///records/dev.db", "dev", Path("/shop"), is_first=True)
    'sqlite:////shop/records/dev.db'
    """
    if state == "sqlite":
        file = "state.db" if is_first else f"state.{target}.db"
        return f"{_SQLITE}{root / '.penstock' / file}"
    if state.startswith(_SQLITE) and not state.startswith(f"{_SQLITE}/"):
        return f"{_SQLITE}{absolute(state.removeprefix(_SQLITE), root)}"
    return state


def is_uri(path: str) -> bool:
    """Return whether a place has a scheme.

    >>> is_uri("s3a://bucket/x"), is_uri("../landing")
    (True, False)
    """
    return _URI.match(path) is not None


def refuse_remote(
    path: str, where: Location, findings: list[Finding], *, is_delta: bool = True
) -> None:
    """Report a place that is neither on a local disk nor in an S3 bucket, or has two meanings.

    The finding shows only the kind of URI, and no code may access such a place: without
    credentials that takes most of a minute to fail. Readers of Delta tables decode `%41`, and
    resolve `..` in URLs, so another table would be read; files on a local disk are safe.
    """
    kind = scheme_of(path) if is_uri(path) else "file"
    in_bucket = kind in S3_SCHEMES
    if in_bucket and (not bucket_and_key(path)[0] or "@" in path or "?" in path):
        sentence = f"a location of {kind} is {kind}://BUCKET/PATH and nothing else"
        hint = "write credentials under storage of the target"
        findings.append(Finding(where, "bad-value", sentence, hint))
    elif not in_bucket and kind != "file":
        sentence = f"{kind}: is not supported yet; tables and files are read from disks and from S3"
        findings.append(Finding(where, "remote-not-supported", sentence))
    elif part := ambiguous_part(path) if in_bucket or is_delta else "":
        sentence = f"a location cannot contain '{part}', which may mean another folder"
        hint = "write the location without it, or rename the folder"
        findings.append(Finding(where, "bad-value", sentence, hint))


def ambiguous_part(path: str) -> str:
    """Return a part of a location that some programs decode or resolve, "" if there is none.

    >>> [ambiguous_part(f"s3://lake/{each}") for each in ("a/", "a%41", "a//b", "../b", "a#b")]
    ['', '%41', '//', '..', '#']
    >>> ambiguous_part("/data/a%41#b")
    '%41'
    """
    _, is_remote, rest = path.partition("://")
    found = (_OF_URLS if is_remote else _ESCAPE).search(rest or path)
    return found[0].replace("/", "//") if found else ""


def absolute(path: str, folder: Path) -> str:
    """Return a URI with its scheme in lower case, and a path as absolute, relative to `folder`."""
    scheme, _, rest = path.partition(":")
    return f"{scheme.lower()}:{rest}" if is_uri(path) else os.path.normpath(folder / path)


def defaults_for(
    defaults: Mapping[str, Plain], path: str, folders: Sequence[str]
) -> list[Mapping[str, Plain]]:
    """Return the layers of defaults for a file, seen from the root or a model folder, in order."""
    plain = {key: value for key, value in defaults.items() if not key.endswith("/")}
    seen = [path] + [path.removeprefix(f"{f}/") for f in folders if path.startswith(f"{f}/")]
    matching = [k for k in defaults if k.endswith("/") and any(s.startswith(k) for s in seen)]
    return [plain, *(mapping_of(defaults[key]) for key in sorted(matching, key=len))]


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """One item of a list in a YAML file: its content and where each key stands."""

    file: YamlFile
    path: At
    tree: Mapping[str, Plain]

    @property
    def where(self) -> Location:
        """The place of the entry."""
        return self.file.place(*self.path)

    @property
    def name(self) -> str:
        """The name in the entry."""
        return text_of(self.tree.get("name"))


def entries(file: YamlFile, tree: Mapping[str, Plain], key: str) -> list[YamlEntry]:
    """Return the items of a top-level list; items without a name were reported already."""
    found = (YamlEntry(file, (key, i), mapping_of(t)) for i, t in enumerate(list_of(tree.get(key))))
    return [entry for entry in found if entry.name]


def sources_of(entry: YamlEntry, root: Path, target: Target) -> Iterator[tuple[At, Source]]:
    """Yield the tables of one source entry, each with its place in the file's tree."""
    for index, table in enumerate(map(mapping_of, list_of(entry.tree.get("tables")))):
        known_as = TableName(entry.name, text_of(table.get("name")))
        at = (*entry.path, "tables", index)
        if not known_as.table:
            continue
        schema = text_of(entry.tree.get("schema")) or known_as.schema
        name = TableName(schema, text_of(table.get("identifier")) or known_as.table)
        form = (text_of(table.get("format") or entry.tree.get("format")) or "delta").lower()
        path = text_of(table.get("path"))
        if path:
            path = absolute(path, root / PurePosixPath(entry.file.path).parent)
        elif form == "delta" and not target.catalog:  # it lies in the warehouse
            path = target.uri_of(name)
        source = Source(
            table=name,
            where=entry.file.place(*at),
            path=path,
            format=form,
            options=pairs_of(table.get("options")),
            columns=column_docs(table.get("columns")),
            description=text_of(table.get("description")).strip(),
            freshness=_freshness(table, entry.tree),
            partition_column=text_of(table.get("partition_column")),
            known_as=None if known_as.folded == name.folded else known_as,
        )
        yield at, source


def _freshness(table: Mapping[str, Plain], source: Mapping[str, Plain]) -> SourceFreshness | None:
    asked = mapping_of(table.get("freshness") or source.get("freshness"))
    loaded_at = table.get("loaded_at_field") or source.get("loaded_at_field")
    column = text_of(asked.get("column") or loaded_at)
    if not asked or not column:
        return None
    ages = [asked.get(key) for key in ("warn_after", "error_after")]
    texts = [f"{a.get('count')} {a.get('period')}" if isinstance(a, Mapping) else a for a in ages]
    return SourceFreshness(column, *map(duration_of, texts))


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
            texts_of(column.get("tags")),
            pairs_of(column.get("meta")),
        )
        for column in map(mapping_of, list_of(tree))
        if text_of(column.get("name"))
    )


def seeds_of(
    root: Path,
    paths: Sequence[str],
    documented: Mapping[str, YamlEntry],
    settings: Settings,
    findings: list[Finding],
) -> list[Seed]:
    """Return every seed file with its YAML entry; an entry without a file is a finding."""
    seeds = []
    for path in paths:
        name = PurePosixPath(path).stem
        bad = check_name("seed", name, Location(path))
        if bad:
            findings.append(bad)
        else:
            seeds.append(_seed(root, path, documented.get(name), settings, findings))
    for name in documented.keys() - {seed.name for seed in seeds}:
        sentence = f"no file under seeds/ is called {name}"
        findings.append(Finding(documented[name].where, "unknown-seed", sentence))
    return seeds


def digest_of_file(path: str) -> str:
    """Return the digest of a file of any size."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seed(
    root: Path,
    path: str,
    entry: YamlEntry | None,
    settings: Settings,
    findings: list[Finding],
) -> Seed:
    tree: Mapping[str, Plain] = entry.tree if entry else {}
    config, pure, digest = mapping_of(tree.get("config")), PurePosixPath(path), ""
    folder = pure.parent.name if len(pure.parts) > 2 else settings.name  # noqa: PLR2004  seeds/file
    schema = settings.target.schema_prefix + (text_of(config.get("schema")) or folder)
    columns = {column.name: column for column in column_docs(tree.get("columns"))}
    for name, kind in pairs_of(config.get("column_types")).items():
        columns[name] = replace(columns.get(name, ColumnDoc(name)), type=kind)
    try:
        digest = digest_of_file(str(root / path))
    except OSError as error:
        findings.append(unreadable(path, error))
    return Seed(
        name=pure.stem,
        table=TableName(schema, text_of(config.get("alias")) or pure.stem),
        where=entry.where if entry else Location(path),
        path=str(root / path),
        format=SEED_FORMATS[pure.suffix],
        digest=digest,
        columns=tuple(columns.values()),
    )
