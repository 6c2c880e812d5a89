"""The lists of `before` and `after`: what stands in them, and under which names (§1.1)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from penstock.core.checks import Phase
from penstock.core.findings import Finding
from penstock.project.check_keys import PHASES, WITH_CHECKS, canonical
from penstock.project.trees.nodes import Broken, Node, VersionReference
from penstock.project.trees.sheet import Keys, Sheet, open_sheet, shown

LONGEST = 128
_PLAIN = Keys((*PHASES, "on_failure"))
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Phases:
    """Checks as they are written, by phase; `on_failure` is None where nothing is said."""

    before: tuple[Node, ...] = ()
    after: tuple[Node, ...] = ()
    on_failure: Node | None = None

    def of(self, phase: Phase) -> tuple[Node, ...]:
        """Give the checks of one phase."""
        return self.before if phase is Phase.BEFORE else self.after

    def __bool__(self) -> bool:
        """Whether anything is written at all."""
        return bool(self.before or self.after or self.on_failure)


NONE = Phases()


def read_phases(node: Node, above: str, findings: list[Finding]) -> Phases:
    """Read a mapping with `before`, `after` and `on_failure`, or a list, which means `after`.

    What is no check is left out, and a finding.
    """
    value = node.value
    if isinstance(value, Broken) or value is None:
        return NONE
    if isinstance(value, VersionReference):
        sentence = f"{value} stands under {above}, which is no version's"
        findings.append(Finding(node.where, "reference-wrong-field", sentence))
        return NONE
    if isinstance(value, tuple):
        return Phases(after=_checks(node, above, findings))
    if not isinstance(value, Mapping):
        expected = "a list of checks, or a mapping with before and after"
        sentence = f"{above} is {shown(above, value)}; it must be {expected}"
        findings.append(Finding(node.where, "bad-value", sentence))
        return NONE
    return phases_in(open_sheet(node, _PLAIN, above, findings))


def phases_in(sheet: Sheet) -> Phases:
    """Read the two lists of an opened mapping, and `on_failure`."""
    found: dict[str, tuple[Node, ...]] = {}
    for phase in PHASES:
        part = sheet.find(phase)
        if part is not None and not isinstance(part.value, tuple):
            sheet.bad(phase, "a list of checks")
        elif part is not None:
            found[phase] = _checks(part, f"{sheet.above}.{phase}", sheet.findings)
    return Phases(found.get("before", ()), found.get("after", ()), sheet.find("on_failure"))


def word_in(node: Node) -> str:
    """Give the word under which a mapping says its checks."""
    first, second = WITH_CHECKS
    return second if second in node.members and first not in node.members else first


def name_of(node: Node) -> str:
    """Give the name of a check: its own, or the one that it gets from its type and columns."""
    texts = {canonical(key): member.node for key, member in node.members.items()}
    own = _text(texts.get("name"))
    if own:
        return own
    sql = _text(texts.get("sql"))
    kind = _text(texts.get("type")).lower()
    if kind in ("", "sql"):
        is_file = sql.endswith(".sql") and len(sql.split()) == 1
        return _made(posixpath.basename(sql).removesuffix(".sql")) if is_file else ""
    columns = texts.get("columns")
    listed = columns.items or (columns,) if columns else ()
    return _made("_".join((kind, *(_text(each) for each in listed if _text(each)))))


def find_check(nodes: Iterable[Node], name: str) -> Node | None:
    """Give the check of that name; letters are compared as they are."""
    return next((each for each in nodes if name_of(each) == name), None)


def replacing(lower: Phases, upper: Phases) -> Phases:
    """Put checks over others: one of the same phase and name takes the other's place."""
    return Phases(
        _over(lower.before, upper.before),
        _over(lower.after, upper.after),
        upper.on_failure or lower.on_failure,
    )


def joined(parts: Iterable[Phases], findings: list[Finding]) -> Phases:
    """Put checks behind each other; `on_failure` stands in one place only."""
    found = NONE
    for part in parts:
        first, second = found.on_failure, part.on_failure
        if first is not None and second is not None:
            sentence = f"on_failure is there twice; the first is at {first.where}"
            findings.append(Finding(second.where, "option-conflict", sentence, "keep one of them"))
        found = Phases(
            (*found.before, *part.before),
            (*found.after, *part.after),
            found.on_failure or part.on_failure,
        )
    return found


def changed(node: Node, change: Node) -> Node:
    """Change only the keys of a check that are written."""
    written = {canonical(key) for key in change.members}
    kept = {key: m for key, m in node.members.items() if canonical(key) not in written}
    return replace(node, value={**kept, **change.members}, where=change.where)


def _made(name: str) -> str:
    plain = _OTHER.sub("_", name)[:LONGEST]
    return f"_{plain}"[:LONGEST] if plain[:1].isdigit() else plain


def _over(lower: tuple[Node, ...], upper: tuple[Node, ...]) -> tuple[Node, ...]:
    names = {name_of(each) for each in upper} - {""}
    if not lower:
        return upper
    return (*(each for each in lower if name_of(each) not in names), *upper)


def _checks(node: Node, above: str, findings: list[Finding]) -> tuple[Node, ...]:
    for item in node.items:
        if not isinstance(item.value, Mapping | Broken):
            sentence = f"{above} holds what is no check"
            hint = "a check is a mapping, such as {type: row_count, min: 1}"
            findings.append(Finding(item.where, "bad-value", sentence, hint))
    return tuple(item for item in node.items if isinstance(item.value, Mapping))


def _text(node: Node | None) -> str:
    value = None if node is None else node.value
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
