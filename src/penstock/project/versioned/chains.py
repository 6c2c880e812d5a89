"""`${{ versions.N.FIELD }}`: which version is meant, and whether it comes round (§1.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.findings import Finding, Location
from penstock.project.trees.nodes import VersionReference


@dataclass(frozen=True, slots=True)
class Chains:
    """Follows the references that may stand under one key."""

    field: str
    numbers: Sequence[int]
    findings: list[Finding]

    def follow(
        self, reference: VersionReference, where: Location, chain: tuple[int, ...]
    ) -> int | None:
        """Give the version that a reference means; None beside a finding."""
        number = int(reference.version) if reference.version.isdecimal() else -1
        if reference.field != self.field:
            sentence = f"{reference} stands under {self.field}"
            hint = f"write ${{{{ versions.{reference.version}.{self.field} }}}}"
            self._note(where, "reference-wrong-field", sentence, hint)
        elif number not in self.numbers:
            known = ", ".join(map(str, sorted(self.numbers)))
            sentence = f"{reference}: there is no version {reference.version}"
            self._note(where, "unknown-version-reference", sentence, f"there are: {known}")
        elif number in chain:
            loop = " → ".join(map(str, (*chain[chain.index(number) :], number)))
            hint = "one of these versions must say it itself"
            self._note(where, "reference-cycle", f"versions {loop}", hint)
        else:
            return number
        return None

    def _note(self, where: Location, code: str, sentence: str, hint: str) -> None:
        self.findings.append(Finding(where, code, sentence, hint))
