"""`invariants:` of versions: checks, another version's, or those with changes (§1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.core.findings import Finding
from penstock.project.check_keys import PHASES, WITH_CHECKS
from penstock.project.checks.phases import (
    NONE,
    Phases,
    changed,
    find_check,
    name_of,
    phases_in,
    read_phases,
)
from penstock.project.nearest import did_you_mean
from penstock.project.trees.nodes import Node, VersionReference
from penstock.project.trees.sheet import Keys, Sheet, open_sheet
from penstock.project.versioned.chains import Chains

_CHANGES = ("remove", "modify", "add")
_DELTA = Keys(("base", *_CHANGES, "on_failure"), ("base",))
_LISTS = Keys(PHASES)
_Checks = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """Checks as a version says them: under which of the two words."""

    node: Node
    above: str


@dataclass(frozen=True, slots=True)
class _Whose:
    """Whose checks are read, for sentences: `v3`, and the word that stands there."""

    label: str
    above: str


@dataclass(slots=True)
class Invariants:
    """The checks of one file's versions, each read once. None stands for what is broken."""

    written: Mapping[int, Said]
    numbers: Sequence[int]
    findings: list[Finding]
    read: dict[int, Phases | None] = field(default_factory=dict)

    def of(self, number: int, chain: tuple[int, ...] = ()) -> Phases | None:
        """Give the checks of a version as they are written; a version that says none has none."""
        if number not in self.read:
            said = self.written.get(number)
            found: Phases | None = NONE
            if said is not None:
                whose = _Whose(f"v{number}", said.above)
                found = self._read(said.node, whose, (*chain, number))
            self.read[number] = found
        return self.read[number]

    def _read(self, node: Node, whose: _Whose, chain: tuple[int, ...]) -> Phases | None:
        value = node.value
        if isinstance(value, VersionReference):
            word = value.field if value.field in WITH_CHECKS else whose.above
            chains = Chains(word, self.numbers, self.findings)
            number = chains.follow(value, node.where, chain)
            return None if number is None else self.of(number, chain)
        has_changes = isinstance(value, Mapping) and not value.keys().isdisjoint(
            ("base", *_CHANGES)
        )
        if has_changes:
            return self._changed(node, whose, chain)
        return read_phases(node, whose.above, self.findings)

    def _changed(self, node: Node, whose: _Whose, chain: tuple[int, ...]) -> Phases | None:
        sheet = open_sheet(node, _DELTA, whose.above, self.findings)
        base = sheet.find("base")
        found = self._read(base, whose, chain) if base is not None else None
        parts = {key: self._part(sheet, key) for key in _CHANGES}
        if found is None:
            return None
        lists: list[_Checks] = []
        for phase, nodes in (("before", found.before), ("after", found.after)):
            kept = self._removed(nodes, _named(parts["remove"], phase), whose)
            kept = self._modified(kept, _named(parts["modify"], phase), whose)
            lists.append(self._added(kept, _named(parts["add"], phase), whose))
        return Phases(lists[0], lists[1], sheet.find("on_failure") or found.on_failure)

    def _part(self, sheet: Sheet, key: str) -> Phases:
        part = sheet.find(key)
        if part is None:
            return NONE
        inner = open_sheet(part, _LISTS, f"{sheet.above}.{key}", self.findings)
        return _names_in(inner) if key == "remove" else phases_in(inner)

    def _removed(self, nodes: _Checks, names: _Checks, whose: _Whose) -> _Checks:
        for item in names:
            found = find_check(nodes, _removal(item))
            if found is None:
                self._unknown("remove", item, nodes, whose)
            nodes = tuple(each for each in nodes if each is not found)
        return nodes

    def _modified(self, nodes: _Checks, changes: _Checks, whose: _Whose) -> _Checks:
        for item in changes:
            found = find_check(nodes, name_of(item))
            if found is None:
                self._unknown("modify", item, nodes, whose)
            else:
                nodes = tuple(changed(each, item) if each is found else each for each in nodes)
        return nodes

    def _added(self, nodes: _Checks, more: _Checks, whose: _Whose) -> _Checks:
        for item in more:
            name = name_of(item)
            first = find_check(nodes, name) if name else None
            if first is None:
                nodes = (*nodes, item)
                continue
            sentence = f'{whose.label}: add names "{name}", which is there already ({first.where})'
            hint = "change it under modify:"
            self.findings.append(Finding(item.where, "duplicate-check", sentence, hint))
        return nodes

    def _unknown(self, word: str, item: Node, nodes: _Checks, whose: _Whose) -> None:
        name = _removal(item)
        if not name:
            sentence = f"{whose.above}.{word} needs the name of a check"
            self.findings.append(Finding(item.where, "bad-value", sentence))
            return
        known = [each for each in map(name_of, nodes) if each]
        sentence = f'{whose.label}: {word} names "{name}"'
        hint = did_you_mean(name, known) or f"known here: {', '.join(known) or 'none'}"
        self.findings.append(Finding(item.where, "unknown-check", sentence, hint))


def _named(part: Phases, phase: str) -> _Checks:
    return part.before if phase == "before" else part.after


def _names_in(sheet: Sheet) -> Phases:
    for phase in PHASES:
        part = sheet.find(phase)
        if part is not None and not isinstance(part.value, tuple):
            sheet.bad(phase, "a list of names")
    return Phases(_items(sheet, "before"), _items(sheet, "after"))


def _items(sheet: Sheet, phase: str) -> _Checks:
    part = sheet.find(phase)
    return part.items if part is not None else ()


def _removal(item: Node) -> str:
    return item.value if isinstance(item.value, str) else name_of(item)
