"""All YAML files of a project: which are versioned models, which only parts of one."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.parsed import SqlFile, YamlFile
from penstock.project.files.references import Files, SqlText, resolve
from penstock.project.files.values import nearest
from penstock.project.versioned.given import VersionedDraft
from penstock.project.versioned.shape import named_files, read_model

_DESCRIBING = ("version", "models", "snapshots", "sources", "seeds")
Place = tuple[str, int]


class SqlFiles(Files, Protocol):
    """The files of a project, and a parser of SQL that is no template."""

    def sql_text(self, path: str, text: str, line: int) -> SqlFile:
        """Read SQL that begins on a line of a file."""

    def truncations(self, path: str, text: str, line: int) -> Mapping[str, str]:
        """Give the output columns that are truncated to a unit of the calendar."""


@dataclass(slots=True)
class Gathered:
    """The versioned models of a project.

    `parts` are the files that are no models by themselves, nor descriptions of any; `sql` holds
    what each SQL says by the file and line where it begins.
    """

    drafts: list[VersionedDraft] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    sql: dict[Place, SqlFile] = field(default_factory=dict)
    truncated: dict[Place, Mapping[str, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def gather(yaml: Sequence[YamlFile], sql: Sequence[str], files: SqlFiles) -> Gathered:
    """Read every versioned model with what it includes and names.

    `sql` are the paths that could be model files. A YAML file that cannot be read takes those
    with it that are called after it: nobody knows whether it names them.
    """
    found = Gathered()
    for file in yaml:
        if file.is_versioned or _is_fragment(file):
            found.parts.add(file.path)
        if file.tree is None and file.findings:
            stem = posixpath.splitext(file.path)[0]
            found.parts |= {path for path in sql if path.startswith(f"{stem}.")}
    resolved = [resolve(f.path, files) for f in yaml if f.is_versioned and not _is_private(f.path)]
    included = {path for each in resolved for path in each.included}
    for each in resolved:
        found.parts |= set(named_files(each))
        if each.path in included:
            found.findings += each.findings
        else:
            found.drafts.append(read_model(each, files))
    _leave_out_leftovers(found, yaml, sql)
    for draft in found.drafts:
        found.findings += draft.findings
        _read_sql(found, _texts(draft), files)
    return found


def _leave_out_leftovers(found: Gathered, yaml: Sequence[YamlFile], sql: Sequence[str]) -> None:
    """Take SQL that is called after a versioned model and that no version names for no model.

    It is what stays of a version that was taken out of the file.
    """
    for file in yaml:
        stem = posixpath.splitext(file.path)[0]
        for path in sql if file.is_versioned else ():
            if path.startswith(f"{stem}.") and path not in found.parts:
                found.parts.add(path)
                sentence = f"no version in {posixpath.basename(file.path)} names this file"
                hint = "name it in a version, or delete it"
                warned = Finding(Location(path), "unused-sql", sentence, hint, Severity.WARNING)
                found.findings.append(warned)


def _read_sql(found: Gathered, texts: Iterable[SqlText], files: SqlFiles) -> None:
    for sql in texts:
        place = (sql.path, sql.line)
        if place not in found.sql:
            found.sql[place] = files.sql_text(sql.path, sql.text, sql.line)
            found.truncated[place] = files.truncations(sql.path, sql.text, sql.line)


def _texts(draft: VersionedDraft) -> Iterable[SqlText]:
    return (each.sql for version in draft.versions for each in (version.own, *version.revisions))


def _is_private(path: str) -> bool:
    return posixpath.basename(path).startswith("_")


def _is_fragment(file: YamlFile) -> bool:
    """Whether a file is a fragment by its name, and describes nothing either."""
    if not _is_private(file.path) or file.tree is None:
        return False
    keys = file.tree if isinstance(file.tree, Mapping) else ()
    return not any(key in _DESCRIBING or nearest(key, _DESCRIBING) for key in keys)
