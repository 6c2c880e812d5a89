"""Lines of folded YAML texts (`sql: >`), whose line breaks have become spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from penstock.project.problems import Problem
from penstock.project.trees.references import Files
from penstock.project.trees.sql_texts import SqlText

_FOLDED = re.compile(r"[^#]*:\s+>[-+0-9]*\s*(#.*)?")


def as_written(text: SqlText, files: Files) -> str:
    """Give a folded text with the line breaks that its file has, "" for any other text."""
    if text.file or not text.path.endswith((".yml", ".yaml")):
        return ""
    lines = files.data(text.path).decode("utf-8", "replace").splitlines()
    if not _FOLDED.fullmatch(lines[text.line - 2] if 2 <= text.line <= len(lines) else ""):  # noqa: PLR2004  the line before
        return ""
    block = lines[text.line - 1 :]
    first = next((line for line in block if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join(takewhile(lambda line: not line.strip() or line.startswith(indent), block))


def placed(
    problems: Sequence[Problem],
    text: SqlText,
    files: Files,
    read: Callable[[str], Sequence[Problem]],
) -> Sequence[Problem]:
    """Give the problems of a text at the lines of its file.

    A folded text is read again as it is written; where that means something else, its first line is
    all that is known.
    """
    written = as_written(text, files) if problems else ""
    if not written:
        return problems
    again = read(written)
    if [_said(each) for each in again] == [_said(each) for each in problems]:
        return again
    return [replace(each, line_offset=0) for each in problems]


def _said(problem: Problem) -> tuple[str, str]:
    return problem.code, problem.sentence
