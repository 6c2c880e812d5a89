"""The YAML files of a project: which are versioned models, and the draft of each."""

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
from penstock.project.files.kinds import as_date, whole
from penstock.project.files.nodes import Section, YamlNode, walk
from penstock.project.files.parsed import SqlFile, YamlFile, is_path, path_from
from penstock.project.files.references import Files, Resolved, SqlText, resolve
from penstock.project.files.sections import read_section
from penstock.project.files.values import Plain, nearest
from penstock.project.settings.strategy import CLUSTERED
from penstock.project.versioned.given import GivenVersion, VersionedDraft, check_rules
from penstock.project.versioned.sections import DestinationSection, VersionedSection
from penstock.project.versioned.versions import Versions

_BOUNDS = ("start", "end", "interval")
_DESCRIBING = ("version", "models", "snapshots", "sources", "seeds")
_QUERIES = ("sql", "source", "query")


def _check_name(section: Section, key: str, what: str, name: str) -> None:
    found = check_name(what, name, section.place(key)) if name else None
    section.findings += [found] if found else []


def _read_destination(node: YamlNode, findings: list[Finding]) -> DestinationSection:
    section = read_section(DestinationSection, node, "destination", findings)
    _check_name(section, "dataset", "schema", section.dataset)
    _check_name(section, "table", "table", section.table)
    if len(section.cluster) > CLUSTERED:
        count = len(section.cluster)
        sentence = f"cluster has {count} columns; Delta clusters by at most {CLUSTERED}"
        section.report("cluster", "cluster-too-many", sentence, "keep those that queries filter by")
    if section.layout == "partitioned" and not section.find("partition"):
        section.bad("layout", "auto or clustered where there is no partition")
    return section


def _grid(destination: DestinationSection) -> Grid:
    section = destination.partition
    if section is None:  # one that is broken has a finding, and one is enough
        return Grid(Grain.DAY) if destination.find("partition") else Grid()
    grain = Grain(section.type)
    if grain is not Grain.RANGE:
        for key in _BOUNDS:
            if section.find(key):
                section.bad(key, f"left out: {grain} has no {key}", "it belongs to type: RANGE")
        return Grid(grain)
    start, end = section.read("start", whole()), section.read("end", whole())
    interval = section.read("interval", whole(1))
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
    root, findings = resolved.root, resolved.findings
    config = root.members.get("config")
    inner = _text(config.node, "materialized") if config else ""
    nothing = DestinationSection(root, "destination", findings)
    draft = VersionedDraft(
        resolved.path, VersionedSection(root, "", findings), Location(resolved.path), nothing
    )
    if "snapshot" in (_text(root, "materialized"), _text(root, "strategy"), inner):
        where = root.members["versions" if "versions" in root.members else "destination"].key
        sentence = f"snapshot {_text(root, 'name')!r} must be a query"
        hint = "write a .sql file, or an entry under snapshots:"
        findings.append(Finding(where, "snapshot-needs-sql", sentence, hint))
        return draft
    draft.section = section = read_section(VersionedSection, root, "", findings)
    _check_name(section, "name", "model", section.name)
    draft.where = Location(draft.path, section.place("name").line)
    if section.destination:
        draft.destination = _read_destination(section.destination, findings)
        draft.grid = _grid(draft.destination)
    _read_strategy(section, draft)
    draft.start = _start(section, draft.grid)
    timed = ("ready_after", "lookback")
    idle = {Grain.RANGE: timed, Grain.WHOLE: (*timed, "batch_size")}
    for key in idle.get(draft.grid.grain, ()):
        if section.find(key):
            sentence = f"{key} has no effect without partitions in time"
            section.warn(key, "option-without-effect", sentence)
    draft.settings = _settings(section, draft.word)
    draft.versions = _versions(section, draft.grid, files)
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


def _read_strategy(section: VersionedSection, draft: VersionedDraft) -> None:
    draft.word = section.strategy or ("partition" if draft.field else "table")
    if draft.word == "view" and draft.field:
        section.bad("strategy", "partition or table: a view has no partitions")
    if section.strategy == "partition" and not draft.field:
        sentence = "strategy partition needs destination.partition"
        section.report("strategy", "missing-key", sentence, "name the field under partition:")


def _start(section: VersionedSection, grid: Grid) -> dt.date | None:
    node = section.start
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


def _settings(section: VersionedSection, strategy: str) -> dict[str, Plain]:
    """Return the settings of a model for display."""
    found: dict[str, Plain] = {"materialized": strategy}
    texts = {"description": section.description, "owner": section.owner}
    found |= {key: text for key, text in texts.items() if text}
    if section.tags:
        found["tags"] = list(section.tags)
    if section.meta is not None and section.meta.members:
        found["meta"] = section.meta.plain
    return found


def _versions(section: VersionedSection, grid: Grid, files: Files) -> tuple[GivenVersion, ...]:
    checks, member = _checks(section), section.members.get("versions")
    if member is None or member.value in (None, ()):
        where = member.key if member else section.node.where
        code = "empty-versions" if member else "missing-key"
        sentence = "the model has no version" if member else "'versions' is missing"
        hint = "a version needs version, effective_from, sql and schema"
        section.findings.append(Finding(where, code, sentence, hint))
    versions = Versions(files, grid, section.findings).read(section.versions)
    return tuple(replace(each, checks=replacing(checks, each.checks)) for each in versions)


def _checks(section: VersionedSection) -> Phases:
    """Return the checks that apply to every version."""
    findings, above, tests = section.findings, word_in(section.node), section.data_tests
    parts = [read_phases(section.checks, above, findings)] if section.checks else []
    listed = Section(section.node, "", findings, {"tests": tests} if tests else {})
    tested = [column_tests(section.columns, findings), model_tests(listed)]
    return joined([*parts, *tested], findings)


def _text(node: YamlNode, key: str) -> str:
    value = node.members[key].node.value if key in node.members else ""
    return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Gathered:
    """The versioned models of a project; `sql` holds the parsed SQL files.

    `parts` are the files that are neither models nor descriptions of any.
    """

    drafts: list[VersionedDraft] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    sql: dict[SqlText, SqlFile] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def gather(yaml: Sequence[YamlFile], sql: Sequence[str], files: Files) -> Gathered:
    """Read every versioned model with its includes and named files.

    `sql` are the paths of possible model files, sorted. If a YAML file cannot be read, files with
    its name as a prefix are taken out too: it may name them.
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
        found.findings += draft.section.findings
        for version in draft.versions:
            for text in (each.sql for each in (version.own, *version.revisions)):
                if text not in found.sql:
                    found.sql[text] = files.sql_text(text.path, text.text, text.line)
    return found


def _leave_out_leftovers(gathered: Gathered, yaml: Sequence[YamlFile], sql: Sequence[str]) -> None:
    """Take out SQL that is named after a versioned model but used by no version.

    Such a file is left over from a version that was removed.
    """
    for file in yaml:
        for path in _called_after(file, sql) if file.is_versioned else ():
            if path not in gathered.parts:
                gathered.parts.add(path)
                sentence = f"no version in {posixpath.basename(file.path)} names this file"
                hint, warning = "name it in a version, or delete it", Severity.WARNING
                finding = Finding(Location(path), "unused-sql", sentence, hint, warning)
                gathered.findings.append(finding)


def _called_after(file: YamlFile, sql: Sequence[str]) -> Iterator[str]:
    stem = f"{posixpath.splitext(file.path)[0]}."
    for at in range(bisect_left(sql, stem), len(sql)):
        if not sql[at].startswith(stem):
            return
        yield sql[at]


def _is_fragment(file: YamlFile) -> bool:
    """Return whether a file is a fragment by its name, and describes nothing either."""
    if not posixpath.basename(file.path).startswith("_") or file.tree is None:
        return False
    keys = file.tree if isinstance(file.tree, Mapping) else ()
    return not any(key in _DESCRIBING or nearest(key, _DESCRIBING) for key in keys)
