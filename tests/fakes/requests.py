"""What tests ask of `run` and its kind, in one form for tables and history tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.app.request import AnyRun, RunRequest, SnapshotRequest

_ENDS = {"first": "from_", "last": "to"}


def a_run(select: tuple[str, ...] = (), **asked: Any) -> AnyRun:
    """Give what `run` asks, or what `snapshot run` asks where `snapshot` is a request of it."""
    snapshot: SnapshotRequest | None = asked.pop("snapshot", None)
    if snapshot is not None:
        return replace(snapshot, select=select, **asked)
    return RunRequest(select=select, **ranged(asked))


def ranged(asked: dict[str, Any]) -> dict[str, Any]:
    """Call `first` and `last` as requests call them."""
    return {_ENDS.get(name, name): value for name, value in asked.items()}
