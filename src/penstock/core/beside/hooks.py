"""SQL that runs beside steps and runs, and the rights that tables have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from penstock.core.findings import Location
from penstock.core.names import InputName
from penstock.core.query import RUN_TIMESTAMP, mentioned, substitute


class HookMoment(StrEnum):
    """When a hook runs: around a step, or around a run."""

    BEFORE = "before"
    AFTER = "after"
    START = "run start"
    END = "run end"


@dataclass(frozen=True, slots=True)
class Hook:
    """One SQL statement with a token for each table, and the place of its declaration.

    `incremental` is its text for a step on an existing table. A text of spaces is not run.
    """

    text: str
    incremental: str
    where: Location

    @property
    def inputs(self) -> tuple[InputName, ...]:
        """The tables that it names by `ref`, `source` or `this`."""
        return tuple(dict.fromkeys(mentioned(self.text) + mentioned(self.incremental)))

    def display(self, names: Mapping[InputName, str]) -> str:
        """Return the statement for users, on one line."""
        text = substitute(self.text.strip() or self.incremental, lambda name, _: names[name])
        return " ".join(text.replace(RUN_TIMESTAMP, "run_timestamp").split())


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of a model, or of all runs of a project."""

    before: tuple[Hook, ...] = ()
    after: tuple[Hook, ...] = ()

    @property
    def all(self) -> tuple[Hook, ...]:
        """Both lists."""
        return (*self.before, *self.after)


@dataclass(frozen=True, slots=True)
class Grant:
    """The right of one user, group or role to use a table in one way."""

    privilege: str
    grantee: str


GRANTS = "grants: "
"""How the text of grants begins."""


def shown_grants(wanted: Sequence[Grant]) -> str:
    """Return rights for users.

    >>> shown_grants([Grant("select", "ann"), Grant("select", "bob")])
    'grants: select to ann, bob'
    """
    by_privilege: dict[str, list[str]] = {}
    for each in wanted:
        by_privilege.setdefault(each.privilege, []).append(each.grantee)
    parts = [f"{privilege} to {', '.join(names)}" for privilege, names in by_privilege.items()]
    return f"{GRANTS}{'; '.join(parts) or 'none'}"
