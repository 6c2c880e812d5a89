"""The YAML files of a project: which are versioned models, and the draft of each (§1.1, §1.2)."""

from __future__ import annotations

import datetime as dt
import hashlib
import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location, Severity
from penstock.core.partitions.partition import Grain, Grid
from penstock.project.checks.phases import (
    Phases,
    column_tests,
    joined,
    model_tests,
    read_phases,
    replacing,
    word_in,
)
from penstock.project.files.discovery import check_name
from penstock.project.files.nodes import (
    Keys,
    Section,
    YamlNode,
    as_date,
    items_of,
    open_section,
    walk,
)
from penstock.project.files.parsed import SqlFile, YamlFile, is_path, path_from
from penstock.project.files.readers import Files
from penstock.project.files.references import Resolved, SqlText, resolve
from penstock.project.files.values import nearest
from penstock.project.settings.strategy import CLUSTERED, LAYOUTS
from penstock.project.versioned.given import Destination, GivenVersion, VersionedDraft, check_rules
from penstock.project.versioned.versions import Versions

_ALIASES = {"schema": "dataset", "name": "table"}
DESTINATION = Keys(
    ("dataset", "table", "partition", "cluster", "layout", "deletion_vectors"),
    ("dataset", "table"),
    _ALIASES,
)
_BOUNDS = ("start", "end", "interval")
PARTITION = Keys(("field", "type", *_BOUNDS), ("field",))
_GRAINS = tuple(grain.value for grain in Grain if grain is not Grain.WHOLE)
_SAID = ("description", "owner", "tags", "meta", "depends_on")
_TIMING = ("start", "ready_after", "batch_size", "immutable")
_CHECKED = ("invariants", "columns", "tests")
MODEL = Keys(
    ("name", "destination", "versions", *_SAID, *_TIMING, "strategy", *_CHECKED),
    ("name", "destination"),
    {"checks": "invariants", "data_tests": "tests"},
)
STRATEGIES = ("partition", "table", "view")
_DESCRIBING = ("version", "models", "snapshots", "sources", "seeds")
_QUERIES = ("sql", "source", "query")


def _check_names(section: Section, words: Mapping[str, str]) -> None:
    named = ((what, section.text(key), section.place(key)) for key, what in words.items())
    found = [check_name(what, name, where) for what, name, where in named if name]
    section.findings += (each for each in found if each)


def _read_destination(node: YamlNode, findings: list[Finding]) -> Destination:
    section = open_section(node, DESTINATION, "destination", findings)
    _check_names(section, {"dataset": "schema", "table": "table"})
    cluster = tuple(str(item.value) for item in section.texts("cluster"))
    if len(cluster) > CLUSTERED:
        sentence = f"cluster has {len(cluster)} columns; Delta clusters by at most {CLUSTERED}"
        section.report("cluster", "cluster-too-many", sentence, "keep those that queries filter by")
    found = Destination(
        section.text("dataset"),
        section.text("table"),
        cluster=cluster,
        layout=section.word("layout", LAYOUTS) or "auto",
        vectors=section.flag("deletion_vectors"),
    )
    written = section.find("partition")
    if written is None:
        if found.layout == "partitioned":
            section.bad("layout", "auto or clustered where there is no partition")
        return found
    partition = open_section(written, PARTITION, "destination.partition", findings)
    grid = _grid(partition)
    return replace(found, field=partition.text("field"), grid=grid, typed=partition.place("type"))


def _grid(section: Section) -> Grid:
    grain = Grain(section.word("type", _GRAINS) or "DAY")
    if grain is not Grain.RANGE:
        for key in _BOUNDS:
            if section.find(key):
                section.bad(key, f"left out: {grain} has no {key}", "it belongs to type: RANGE")
        return Grid(grain)
    start, end = section.number("start"), section.number("end")
    interval = section.number("interval", 1)
    missing = (f"{key!r} is missing" for key in _BOUNDS if key not in section.members)
    section.findings += (Finding(section.node.where, "missing-key", each) for each in missing)
    if start is None or end is None or interval is None:
        return Grid()
    if end > start:
        return Grid(Grain.RANGE, start, end, interval)
    section.bad("end", f"an integer > start, which is {start}")
    return Grid()


def _read_model(resolved: Resolved, files: Files) -> VersionedDraft:
    """Read and check what a file says of its model."""
    draft = VersionedDraft(resolved.path, Location(resolved.path), findings=resolved.findings)
    root = resolved.root
    config = root.members.get("config")
    inner = _text(config.node, "materialized") if config else ""
    if "snapshot" in (_text(root, "materialized"), _text(root, "strategy"), inner):
        where = root.members["versions" if "versions" in root.members else "destination"].key
        sentence = f"snapshot {_text(root, 'name')!r} must be a query"
        hint = "write a .sql file, or an entry under snapshots:"
        draft.findings.append(Finding(where, "snapshot-needs-sql", sentence, hint))
        return draft
    section = open_section(root, MODEL, "", draft.findings)
    _check_names(section, {"name": "model"})
    draft.name = section.text("name")
    draft.where = Location(draft.path, section.place("name").line)
    destination = section.find("destination")
    if destination is not None:
        draft.destination = _read_destination(destination, draft.findings)
    _read_strategy(section, draft)
    _read_timing(section, draft)
    _read_said(section, draft)
    draft.versions = _versions(section, draft, files)
    contents = [files.data(path) for path in (resolved.path, *resolved.included)]
    draft.yaml = hashlib.sha256(b"".join(contents)).hexdigest()
    check_rules(draft)
    return draft


def _named_files(resolved: Resolved) -> Iterator[str]:
    """Yield every file that a model names, for SQL or for checks: none of them is a model."""
    yield from resolved.included
    for key, node in walk(resolved.root):
        value = node.value
        if key in _QUERIES and isinstance(value, str) and not node.file and is_path(value):
            yield path_from(node.where, value)


def _read_strategy(section: Section, draft: VersionedDraft) -> None:
    has_partition = bool(draft.destination.field)
    draft.word = section.word("strategy", STRATEGIES) or ("partition" if has_partition else "table")
    if draft.word == "view" and has_partition:
        section.bad("strategy", "partition or table: a view has no partitions")
    if draft.word == "partition" and not has_partition and section.find("strategy"):
        sentence = "strategy partition needs destination.partition"
        section.report("strategy", "missing-key", sentence, "name the field under partition:")


def _read_timing(section: Section, draft: VersionedDraft) -> None:
    grid = draft.destination.grid
    draft.start = _start(section, grid)
    draft.ready_after = section.duration("ready_after")
    draft.batch_size = section.number("batch_size", 1)
    draft.immutable = section.flag("immutable")
    idle = {Grain.RANGE: ("ready_after",), Grain.WHOLE: ("ready_after", "batch_size")}
    for key in idle.get(grid.grain, ()):
        if section.find(key):
            sentence = f"{key} has no effect without partitions in time"
            section.warn(key, "option-without-effect", sentence)


def _start(section: Section, grid: Grid) -> dt.date | None:
    node = section.find("start")
    if node is None:
        return None
    text = str(node.value)
    if grid.grain in (Grain.RANGE, Grain.WHOLE):
        section.bad("start", "left out: this model has no partitions in time")
        return None
    found = as_date(text)
    if found is None:
        try:
            found = grid.date(grid.parse(text))
        except UsageError:
            section.bad("start", f"a date, or a {grid.grain} partition")
    return found


def _read_said(section: Section, draft: VersionedDraft) -> None:
    draft.description = section.text("description").strip()
    draft.tags = tuple(str(item.value) for item in section.texts("tags"))
    draft.settings = {"materialized": draft.word}
    texts = ((key, section.text(key)) for key in ("description", "owner"))
    draft.settings |= {key: text.strip() for key, text in texts if text}
    if draft.tags:
        draft.settings["tags"] = list(draft.tags)
    meta = section.find("meta")
    if meta is not None and not isinstance(meta.value, Mapping):
        section.bad("meta", "a mapping")
    elif meta is not None and meta.members:
        draft.settings["meta"] = meta.plain
    listed = section.find("depends_on")
    if listed is not None:
        draft.depends_on = listed.items if isinstance(listed.value, tuple) else (listed,)


def _versions(section: Section, draft: VersionedDraft, files: Files) -> tuple[GivenVersion, ...]:
    checks = _checks(section)
    listed, member = items_of(section, "versions", "versions"), section.members.get("versions")
    if member is None or member.node.value in (None, ()):
        where = member.key if member else section.node.where
        code = "empty-versions" if member else "missing-key"
        sentence = "the model has no version" if member else "'versions' is missing"
        hint = "a version needs version, effective_from, sql and schema"
        section.findings.append(Finding(where, code, sentence, hint))
    read = Versions(files, draft.destination.grid, section.findings)
    versions = read.read(listed)
    return tuple(replace(each, checks=replacing(checks, each.checks)) for each in versions)


def _checks(section: Section) -> Phases:
    """Return the checks that hold for every version."""
    written, above = section.find("invariants"), word_in(section.node)
    parts = [read_phases(written, above, section.findings)] if written is not None else []
    columns = items_of(section, "columns", "columns")
    tests = [column_tests(columns, section.findings), model_tests(section)]
    return joined([*parts, *tests], section.findings)


def _text(node: YamlNode, key: str) -> str:
    value = node.members[key].node.value if key in node.members else ""
    return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Gathered:
    """The versioned models of a project; `sql` holds what each SQL says.

    `parts` are the files that are no models by themselves, nor descriptions of any.
    """

    drafts: list[VersionedDraft] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    sql: dict[SqlText, SqlFile] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def gather(yaml: Sequence[YamlFile], sql: Sequence[str], files: Files) -> Gathered:
    """Read every versioned model with what it includes and names.

    `sql` are the paths that could be model files, sorted. A YAML file that cannot be read takes
    those with it that are called after it: nobody knows whether it names them.
    """
    found = Gathered()
    for file in yaml:
        if file.is_versioned or _is_fragment(file):
            found.parts.add(file.path)
        if file.tree is None and file.findings:
            found.parts |= set(_called_after(file, sql))
    public = (file for file in yaml if not posixpath.basename(file.path).startswith("_"))
    resolved = [resolve(file.path, files) for file in public if file.is_versioned]
    included = {path for each in resolved for path in each.included}
    for each in resolved:
        found.parts |= set(_named_files(each))
        if each.path in included:
            found.findings += each.findings
        else:
            found.drafts.append(_read_model(each, files))
    _leave_out_leftovers(found, yaml, sql)
    for draft in found.drafts:
        found.findings += draft.findings
        for version in draft.versions:
            for text in (each.sql for each in (version.own, *version.revisions)):
                if text not in found.sql:
                    found.sql[text] = files.sql_text(text.path, text.text, text.line)
    return found


def _leave_out_leftovers(found: Gathered, yaml: Sequence[YamlFile], sql: Sequence[str]) -> None:
    """Take SQL that is called after a versioned model and that no version names for no model.

    It is what stays of a version that was taken out of the file.
    """
    for file in yaml:
        for path in _called_after(file, sql) if file.is_versioned else ():
            if path not in found.parts:
                found.parts.add(path)
                sentence = f"no version in {posixpath.basename(file.path)} names this file"
                hint, warning = "name it in a version, or delete it", Severity.WARNING
                found.findings += [Finding(Location(path), "unused-sql", sentence, hint, warning)]


def _called_after(file: YamlFile, sql: Sequence[str]) -> Iterator[str]:
    stem = f"{posixpath.splitext(file.path)[0]}."
    for at in range(bisect_left(sql, stem), len(sql)):
        if not sql[at].startswith(stem):
            return
        yield sql[at]


def _is_fragment(file: YamlFile) -> bool:
    """Whether a file is a fragment by its name, and describes nothing either."""
    if not posixpath.basename(file.path).startswith("_") or file.tree is None:
        return False
    keys = file.tree if isinstance(file.tree, Mapping) else ()
    return not any(key in _DESCRIBING or nearest(key, _DESCRIBING) for key in keys)
