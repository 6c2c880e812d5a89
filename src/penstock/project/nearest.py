"""The nearest known name, for hints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from penstock.core.findings import some

_SHOWN = 8


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the known name that is most like `name`, or "" if none is near.

    >>> nearest("taget", ["targets", "threads"])
    'targets'
    """
    folded = {candidate.lower(): candidate for candidate in sorted(known)}
    found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Word the hint, "" if nothing is near.

    >>> did_you_mean("user_clean", ["users_clean"])
    "did you mean 'users_clean'?"
    """
    found = nearest(name, known)
    return f"did you mean {found!r}?" if found else ""


def some_of(names: Iterable[str]) -> str:
    """List names for a sentence, at most eight, so that output stays bounded.

    >>> some_of(["b", "a"])
    'a, b'
    """
    return some(sorted(names), _SHOWN)
