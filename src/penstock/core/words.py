"""Lists in sentences: bounded, whatever there is to name."""

from __future__ import annotations

from collections.abc import Sequence


def some(items: Sequence[str], most: int, between: str = ", ") -> str:
    """Name the first items and say how many more there are; after clauses, `; `, as one more.

    >>> some(["a", "b", "c"], 2), some(["a", "b"], 2), some([], 2)
    ('a, b and 1 more', 'a, b', '')
    >>> some(["a is 1", "b is 2", "c is 3"], 1, "; ")
    'a is 1; and 2 more'
    """
    named, rest = between.join(items[:most]), len(items) - most
    if rest <= 0:
        return named
    return f"{named}{' ' if between == ', ' else between}and {rest} more"
