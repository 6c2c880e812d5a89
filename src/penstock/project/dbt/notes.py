"""What the import did with each key, block and file, and why: the report's values."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Finding


class Fate(StrEnum):
    """What happened to a part of a dbt project."""

    TAKEN = "taken"
    CHANGED = "changed"
    DROPPED = "dropped"
    BY_HAND = "by hand"


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """What happened to one key or block of a file; `why` also says what to do."""

    line: int
    what: str
    fate: Fate
    why: str = ""


@dataclass(frozen=True, slots=True)
class FileNotes:
    """One file of the dbt project: what was written from it, and what happened to its parts.

    `models` are the names of models in it; one that needs a hand has a note that says so.
    """

    source: str
    kind: str
    targets: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def fate(self) -> Fate:
        """The gravest fate of its parts; a file that was written nowhere was dropped."""
        fates = {note.fate for note in self.notes}
        for fate in (Fate.BY_HAND, Fate.CHANGED, Fate.DROPPED):
            if fate in fates and (fate is not Fate.DROPPED or not self.targets):
                return fate
        return Fate.CHANGED if Fate.DROPPED in fates else Fate.TAKEN


@dataclass(frozen=True, slots=True)
class ImportedProject:
    """The files of the new project by path, and what happened to those of the old one."""

    name: str
    schema: str
    files: Mapping[str, bytes]
    sources: tuple[FileNotes, ...]

    def count(self, kind: str) -> Mapping[Fate, int]:
        """Count the models of a kind of file by their fate."""
        held = (each for each in self.sources if each.kind == kind)
        return Counter(each.fate for each in held for _ in each.models or (each.source,))


class RefusedProjectError(Exception):
    """The project has errors that dbt refuses as well; all of them are attached."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{len(self.findings)} errors")


@dataclass(slots=True)
class FileLog:
    """Collects the notes of one file."""

    notes: list[Note] = field(default_factory=list)

    def add(self, note: Note) -> None:
        """Record a note."""
        self.notes.append(note)

    def take(self, what: str, line: int = 1) -> None:
        """Record that a part is in the new file as it was."""
        self.notes.append(Note(line, what, Fate.TAKEN))

    def change(self, what: str, why: str, line: int = 1) -> None:
        """Record that a part is in the new file in another form."""
        self.notes.append(Note(line, what, Fate.CHANGED, why))

    def drop(self, what: str, why: str, line: int = 1) -> None:
        """Record that a part has no counterpart, and no action is needed."""
        self.notes.append(Note(line, what, Fate.DROPPED, why))

    def hand(self, what: str, why: str, line: int = 1) -> None:
        """Record that a part has no counterpart, and what to do about it."""
        self.notes.append(Note(line, what, Fate.BY_HAND, why))

    def sorted(self) -> tuple[Note, ...]:
        """Return the notes in the order of lines."""
        return tuple(builtins.sorted(set(self.notes)))
