"""Which wishes of one `penstock check` go together (spec/checks.md §8.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from penstock.app.checking.reports import BOTH, CheckRequest
from penstock.core.errors import UsageError
from penstock.core.model import Model

_SELECTS = ("--select", "--query", "--model")


def refuse_conflicts(request: CheckRequest, words: Sequence[str] = ()) -> None:
    """Refuse what leaves something out beside --all, and two ways to name groups.

    Beside --sources, which evaluates no check of a model, everything about models is refused.
    Flags are named as the `words` of the command line name them. Raises `option-conflict`.
    """
    dated = _dated(request, words)
    groups = [*dated, *["--partition"] * bool(request.partition)]
    selects = [_typed(words, _SELECTS)] * bool(request.select)
    excludes = ["--exclude"] * bool(request.exclude)
    if request.everything:
        _refuse("--all", [*selects, *excludes, *groups])
    if request.sources:
        of_models = [*["--all"] * request.everything, *excludes, *groups]
        checks = [*(f"--{phase}" for phase in _phases(request)), *["--check"] * bool(request.names)]
        _refuse("--sources", [*of_models, *checks])
    if request.partition and dated:
        _refuse("--partition", dated)


def refuse_unreadable(models: Iterable[Model], request: CheckRequest) -> None:
    """Refuse a --partition that is none of a selected model; raises `invalid-partition`.

    A model without partitions is looked at whole; what is a key nowhere is refused all the same.
    """
    for model in models if request.partition else ():
        if model.partition is not None:
            model.grid.parse(request.partition)
        else:
            model.grid.bound(request.partition, last=False)


def _dated(request: CheckRequest, words: Sequence[str]) -> list[str]:
    """Give the flags of dates; two equal ends are one date, unless they were typed."""
    asked = request.range
    ends = {"--from": asked.first, "--to": asked.last, "--days": asked.days}
    if asked.first is not None and asked.first == asked.last and not _is_typed(words, "--from"):
        return ["--date"]
    return [name for name, value in ends.items() if value is not None]


def _phases(request: CheckRequest) -> list[str]:
    return [] if request.phases == BOTH else sorted(request.phases)


def _refuse(flag: str, others: Sequence[str]) -> None:
    if others:
        raise UsageError(
            "option-conflict",
            f"{flag} and {', '.join(others)} exclude each other",
            hint=f"leave {flag} out",
        )


def _typed(words: Sequence[str], names: Sequence[str]) -> str:
    """Give the name by which a flag was typed, else its first one."""
    return next((name for name in names if _is_typed(words, name)), names[0])


def _is_typed(words: Sequence[str], name: str) -> bool:
    return any(re.fullmatch(f"{name}(=.*)?", word, re.DOTALL) for word in words)
