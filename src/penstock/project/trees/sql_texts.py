"""SQL that a file names: one word that ends in .sql is the path of a file."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.findings import Finding, Location
from penstock.project.trees.references import Files, is_outside, outside_sentence, path_from


@dataclass(frozen=True, slots=True)
class SqlText:
    """SQL, the file and line where it begins, and that file if all of it is this SQL."""

    text: str
    path: str
    line: int = 1
    file: str = ""


def is_path(text: str) -> bool:
    """Whether SQL is the path of a file: one word that ends in .sql.

    >>> is_path("daily.v1.sql"), is_path("select 1 -- a.sql")
    (True, False)
    """
    return text.endswith(".sql") and len(text.split()) == 1


def file_text(
    written: str, where: Location, files: Files, findings: list[Finding]
) -> SqlText | None:
    """Read a file that is named at a place; None beside a finding."""
    path = path_from(where, written)
    if is_outside(path):
        sentence, code = outside_sentence(written), "include-outside-project"
        findings.append(Finding(where, code, sentence, "name files of the project only"))
        return None
    if not files.has(path):
        sentence = f"there is no file {path}"
        hint = f"paths are relative to {where.path}"
        findings.append(Finding(where, "sql-file-not-found", sentence, hint))
        return None
    text = files.text(path)
    if text is not None and not text.strip():
        sentence, hint = "the file is empty", "write a query, or delete the file"
        findings.append(Finding(Location(path), "empty-file", sentence, hint))
        return None
    return None if text is None else SqlText(text, path, 1, path)
