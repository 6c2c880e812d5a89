"""Which wishes of one `penstock check` go together (spec/checks.md §8.2)."""

from __future__ import annotations

from penstock.app.checking.reports import CheckRequest
from penstock.core.errors import UsageError


def refuse_conflicts(request: CheckRequest) -> None:
    """Refuse what leaves something out beside --all, and two ways to name groups.

    Raises `option-conflict`.
    """
    by_date = {
        "--from": request.range.first is not None,
        "--to": request.range.last is not None,
        "--days": request.range.days is not None,
    }
    given = {
        "--select": bool(request.select),
        "--exclude": bool(request.exclude),
        **by_date,
        "--partition": bool(request.partition),
    }
    narrow = [name for name, is_given in given.items() if is_given]
    if request.everything and narrow:
        raise UsageError(
            "option-conflict",
            f"--all and {', '.join(narrow)} exclude each other",
            hint="leave --all out",
        )
    dated = [name for name, is_given in by_date.items() if is_given]
    if request.partition and dated:
        raise UsageError(
            "option-conflict",
            f"--partition and {' and '.join(dated)} exclude each other",
            hint="leave --partition out",
        )
