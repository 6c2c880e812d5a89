"""`invariants:` as containers: their checks are read elsewhere (spec/drift.md §1.4, §1.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.findings import Finding
from penstock.project.versioned.chains import Chains
from penstock.project.versioned.nodes import Broken, Node, VersionReference
from penstock.project.versioned.sheet import Keys, Sheet, open_sheet

_PHASES = ("before", "after")
_PLAIN = Keys((*_PHASES, "on_failure"))
_CHANGES = ("remove", "modify", "add")
_DELTA = Keys(("base", *_CHANGES), ("base",))


def check_invariants(
    written: Mapping[int, Node], numbers: Sequence[int], findings: list[Finding]
) -> None:
    """Check that the invariants of each version are lists of named checks; nothing is kept."""
    done: set[int] = set()
    for number in written:
        if number in done:
            continue
        done.add(number)
        _check(written, written[number], (number,), done, Chains("invariants", numbers, findings))


def _check(
    written: Mapping[int, Node], node: Node, chain: tuple[int, ...], done: set[int], chains: Chains
) -> None:
    value, findings = node.value, chains.findings
    if isinstance(value, VersionReference):
        number = chains.follow(value, node.where, chain)
        if number is not None and number in written and number not in done:
            done.add(number)
            _check(written, written[number], (*chain, number), done, chains)
    elif isinstance(value, tuple):
        _checks(node, "invariants", findings)
    elif isinstance(value, Mapping) and ("base" in value or not value.keys().isdisjoint(_CHANGES)):
        sheet = open_sheet(node, _DELTA, "invariants", findings)
        base = sheet.find("base")
        if base is not None:
            _check(written, base, chain, done, chains)
        for key in _CHANGES:
            part = sheet.find(key)
            if part is not None:
                inner = open_sheet(part, Keys(_PHASES), f"invariants.{key}", findings)
                _phases(inner, names=key == "remove")
    elif not isinstance(value, Broken):
        _phases(open_sheet(node, _PLAIN, "invariants", findings), names=False)


def _phases(sheet: Sheet, *, names: bool) -> None:
    for phase in _PHASES:
        part = sheet.find(phase)
        if part is not None and not isinstance(part.value, tuple):
            sheet.bad(phase, "a list of names" if names else "a list of checks")
        elif part is not None and not names:
            _checks(part, f"{sheet.above}.{phase}", sheet.findings)


def _checks(node: Node, above: str, findings: list[Finding]) -> None:
    for item in node.items:
        if not isinstance(item.value, Mapping | Broken):
            sentence = f"{above} holds what is no check"
            hint = "a check is a mapping with a name"
            findings.append(Finding(item.where, "bad-value", sentence, hint))
