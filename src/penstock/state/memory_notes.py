"""Noted commits in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.core.facts import Seen, Touched
from penstock.state.memory_tables import MemoryTables, MemoryTransactions


class MemoryNotes:
    """Keeps commits that changed rows, and how far logs were read."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def seen(self) -> Mapping[str, Seen]:
        """Give what was noted of tables, by the names under which they were noted."""
        with self._transactions.read() as tables:
            return {
                name: replace(seen, foreign=_foreign(tables, name))
                for name, seen in sorted(tables.seen.items())
            }

    def touched(self, name: str, after: int) -> tuple[Touched, ...]:
        """Give the noted commits of a table above a version, oldest first."""
        with self._transactions.read() as tables:
            noted = tables.commits.get(name, {})
        return tuple(commit for version, commit in sorted(noted.items()) if version > after)

    def note(self, seen: Seen, commits: Sequence[Touched]) -> None:
        """Note commits of a table and how far its log was read; one of another id starts anew."""
        with self._transactions.write() as tables:
            known = tables.seen.get(seen.name)
            if known is not None and known.table_id == seen.table_id:
                seen = replace(seen, version=max(seen.version, known.version))
                before = tables.commits.get(seen.name, {})
            else:
                before = {}
            tables.seen[seen.name] = replace(seen, foreign=None)
            tables.commits[seen.name] = before | {each.version: each for each in commits}


def _foreign(tables: MemoryTables, name: str) -> int | None:
    return max(
        (
            version
            for version, commit in tables.commits.get(name, {}).items()
            if commit.step not in tables.steps and commit.store != tables.store_id
        ),
        default=None,
    )
