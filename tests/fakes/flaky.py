"""A store that cannot be reached for a while."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from typing import Any

from penstock.core.check_results import CheckRecords
from penstock.core.errors import StateAwayError
from penstock.core.ports.ports import Archive, Notes, Records, SliceRecords, Store
from penstock.core.ports.runs import HookRecords, RunRecords
from penstock.core.ports.sessions import PackageRecords


class FlakyStore:
    """Passes everything on to a real store, but for calls of its journal and leases."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lost: Counter[str] = Counter()
        self._unanswered: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.journal: Any = _FlakyPart(self)
        self.leases: Any = _FlakyPart(self)

    @property
    def records(self) -> Records:
        return self._store.records

    @property
    def runs(self) -> RunRecords:
        return self._store.runs

    @property
    def hooks(self) -> HookRecords:
        return self._store.hooks

    @property
    def slices(self) -> SliceRecords:
        return self._store.slices

    @property
    def checks(self) -> CheckRecords:
        return self._store.checks

    @property
    def notes(self) -> Notes:
        return self._store.notes

    @property
    def sessions(self) -> PackageRecords:
        return self._store.sessions

    @property
    def archive(self) -> Archive:
        return self._store.archive

    def lose(self, method: str, times: int = 1) -> None:
        """Let the next calls of a method of the journal not reach the database."""
        self._lost[method] += times

    def lose_answer(self, method: str) -> None:
        """Let the next call of a method of the journal happen, and its answer be lost."""
        self._unanswered[method] += 1

    def call(self, method: str, *given: Any, **named: Any) -> Any:
        self.calls[method] += 1
        if self._lost[method] > 0:
            self._lost[method] -= 1
            raise StateAwayError("state-unreachable", "the state store cannot be reached")
        part = self._store.journal if hasattr(self._store.journal, method) else self._store.leases
        answer = getattr(part, method)(*given, **named)
        if self._unanswered[method] > 0:
            self._unanswered[method] -= 1
            raise StateAwayError("state-unreachable", "the answer was lost")
        return answer

    def one_state(self) -> AbstractContextManager[None]:
        return self._store.one_state()

    def close(self) -> None:
        self._store.close()


class _FlakyPart:
    """Hands the calls of a part of the store to `call`; no method is of two parts."""

    def __init__(self, store: FlakyStore) -> None:
        self._flaky = store

    def __getattr__(self, method: str) -> Any:
        return lambda *given, **named: self._flaky.call(method, *given, **named)
