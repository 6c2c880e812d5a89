"""What differs between the code that made some rows and that of now (spec/drift.md §4, §8.1)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.model import Fingerprint
from penstock.plan.values import Meaning, State


def differences(
    made: Fingerprint, now: Fingerprint, meaning: Meaning
) -> Iterator[tuple[State, str]]:
    """Give what differs between the code that made rows and today's; CURRENT for the text alone.

    A difference of versions hides the others, because an upgrade changes both by its nature.
    """
    if made.version != now.version:
        yield State.VERSION_UPGRADED, f"{made.label} -> {now.label}"
        return
    if not means_same(made, now, meaning):
        yield State.SQL_CHANGED, ""
    elif made.settings != now.settings:
        yield State.SQL_CHANGED, "its settings changed"
    elif made.sql != now.sql:
        yield State.CURRENT, ""
    if made.schema and now.schema and made.schema != now.schema:
        yield State.SCHEMA_CHANGED, ""


def means_same(made: Fingerprint, now: Fingerprint, meaning: Meaning) -> bool:
    """Whether two statements are one in canonical form; another parser's form is made anew."""
    if made.canonical == now.canonical:
        return True
    return made.parser != now.parser and meaning(made) == now.canonical
