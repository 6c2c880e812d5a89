"""What files are read in: variables, environment, target. Files say what of it they used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.project.parsed import Read
from penstock.project.values import Plain


@dataclass(frozen=True, slots=True)
class TargetView:
    """What a template may ask of its target."""

    name: str = ""
    catalog: str = ""
    schema_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The world of one load."""

    environ: Mapping[str, str]
    vars: Mapping[str, Plain] = field(default_factory=dict)
    target: TargetView = TargetView()

    def read(self, kind: str, name: str = "") -> Read:
        """Note that a file depends on a variable of the environment, a var or the target.

        The note holds a digest: values of the environment may be secret and the cache is a file.
        """
        value: Plain
        match kind:
            case "env":
                value = self.environ.get(name)
            case "var":
                value = [self.vars[name]] if name in self.vars else None
            case _:
                value = [self.target.name, self.target.catalog, self.target.schema_prefix]
        return Read(kind, name, digest(json.dumps(value, sort_keys=True)))

    def agrees(self, reads: Sequence[Read]) -> bool:
        """Whether everything that was read is still the same."""
        return all(self.read(note.kind, note.name) == note for note in reads)


def digest(text: str) -> str:
    """Give the sha256 of a text in UTF-8, lower-case hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
