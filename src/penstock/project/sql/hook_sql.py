"""The SQL of hooks: any statement, so it is not parsed, and only its tables are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from penstock.core.findings import Finding, Location
from penstock.project.files.parsed import Branch, RefKind, SqlFile, TableRef, numbered
from penstock.project.files.values import Plain
from penstock.project.sql.canonical import tokens_of
from penstock.project.sql.context.rendering import Rendering
from penstock.project.sql.template import Renderer

_MARKER = re.compile(r"`penstock:(\d+|this)(?::(valid_from|valid_to|present))?`")
_TOKEN = r"`penstock:(model|this):([^`:]+)`"  # noqa: S105  it stands for a table
_CHANGES = re.compile(
    r"\s*(?:insert\s+(?:into|overwrite)(?:\s+table)?|update|delete\s+from|merge\s+into"
    r"|truncate\s+table|(?:create\s+)?(?:or\s+)?replace\s+table|create\s+table(?:\s+if\s+not\s+exists)?"
    r"|drop\s+table(?:\s+if\s+exists)?|restore\s+table|restore|copy\s+into"
    rf"|alter\s+table(?=\s+{_TOKEN}\s+(?:add\s+columns?|drop|rename|replace|change)\b))\s+{_TOKEN}",
    re.IGNORECASE,
)


def parse_hook(renderer: Renderer, path: str, text: str, line: int) -> SqlFile:
    """Render one hook that begins on a line of a file.

    The second branch is for a step on an existing table. An empty text has no tables.
    """
    given = "\n" * (line - 1) + text
    renderings = [renderer.render(path, given, incremental=False)]
    if renderings[0].is_branching:
        renderings.append(renderer.render(path, given, incremental=True))
    findings = [finding for each in renderings for finding in each.findings]
    findings += [finding for each in renderings for finding in _problems(path, line, each)]
    reads = sorted(set().union(*(r.reads for r in renderings)), key=lambda r: (r.kind, r.name))
    branches = () if findings else tuple(map(_branch, renderings))
    unique = tuple(dict.fromkeys(findings))
    return SqlFile(path, branches=branches, findings=unique, reads=tuple(reads))


def _branch(rendering: Rendering) -> Branch:
    refs: list[TableRef] = []

    def number(marker: re.Match[str]) -> str:
        call = (
            TableRef(RefKind.THIS, (), 1)
            if marker[1] == "this"
            else rendering.calls[int(marker[1])]
        )
        kind = RefKind(marker[2]) if marker[2] else call.kind
        refs.append(TableRef(kind, call.names, call.line, qualifies=bool(marker[2])))
        return numbered(len(refs) - 1)

    text = rendering.text.strip().rstrip(";").rstrip()
    return Branch(_MARKER.sub(number, text), None, tuple(refs))


def _problems(path: str, line: int, rendering: Rendering) -> Iterator[Finding]:
    """Yield a finding for a text of several statements."""
    with suppress(SqlglotError):
        tokens = tokens_of(rendering.text)
        ends = [n for n, each in enumerate(tokens) if each.token_type is TokenType.SEMICOLON]
        if ends and ends[0] + 1 < len(tokens):
            sentence = "a hook is one statement, and this one goes on after a semicolon"
            hint = "write a list with one statement per item"
            yield Finding(Location(path, line), "bad-value", sentence, hint)


def changed_table(text: str) -> str:
    """Return the model whose rows or columns a linked statement changes, "" for none.

    >>> changed_table("delete from `penstock:this:orders` where id < 0")
    'orders'
    >>> changed_table("optimize `penstock:this:orders`")
    ''
    """
    found = _CHANGES.match(text)
    return found[found.re.groups] if found else ""


def with_calls(value: Plain, calls: Sequence[TableRef]) -> Plain:
    """Return a setting in which tables of the header's template are calls again.

    A hook is rendered later, by itself: `"analyze table " ~ ref("a")` names a table of the header.
    """
    if isinstance(value, list):
        return [with_calls(each, calls) for each in value]
    if isinstance(value, dict):
        return {key: with_calls(each, calls) for key, each in value.items()}
    return (
        _MARKER.sub(lambda marker: _called(marker, calls), value)
        if isinstance(value, str)
        else value
    )


def _called(marker: re.Match[str], calls: Sequence[TableRef]) -> str:
    if marker[1] == "this" or marker[2]:
        return "{{ this }}" if marker[1] == "this" else marker[0]
    call = calls[int(marker[1])]
    return f"{{{{ {call.kind}({', '.join(map(repr, call.names))}) }}}}"
