"""The grammar of selectors: text to terms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.core.errors import SelectorError

_TERM = re.compile(
    r"(?P<at>@)?(?:(?P<up>\d*)\+)?(?:(?P<method>[A-Za-z_][\w.]*):)?(?P<value>[^+@]+?)"
    r"(?P<down>\+(?P<depth>\d*))?"
)


@dataclass(frozen=True, slots=True)
class Term:
    """One selector: a method with a value, and which neighbours come along.

    A depth of None has no limit. `whole_build` is `@`: children and all that those need.
    """

    text: str
    method: str
    value: str
    with_parents: bool = False
    parent_depth: int | None = None
    with_children: bool = False
    child_depth: int | None = None
    whole_build: bool = False


def parse_terms(value: str) -> list[list[Term]]:
    """Split a value into unions of intersections; raise `SelectorError` on anything unreadable.

    >>> [[term.value for term in terms] for terms in parse_terms("a,tag:b c")]
    [['a', 'b'], ['c']]
    """
    groups = [[_term(text) for text in group.split(",")] for group in value.split()]
    if not groups:
        raise SelectorError("bad-selector", "the selector is empty", hint="--select NAME")
    return groups


def _term(text: str) -> Term:
    found = _TERM.fullmatch(text)
    if found is None or (found["at"] and found["up"] is not None):
        raise SelectorError(
            "bad-selector",
            f"{text!r} is no selector",
            hint="for example name, +name, name+1, @name, tag:daily, path:models/staging",
        )
    return Term(
        text=text,
        method=found["method"] or "",
        value=found["value"],
        with_parents=found["up"] is not None,
        parent_depth=int(found["up"]) if found["up"] else None,
        with_children=found["down"] is not None,
        child_depth=int(found["depth"]) if found["depth"] else None,
        whole_build=bool(found["at"]),
    )
