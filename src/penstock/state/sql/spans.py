"""Spans of noted commits as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.partition import Span

Spans = Mapping[str, tuple[Span, ...] | None]
Written = dict[str, list[list[int]] | None]


def write_spans(spans: Spans) -> Written:
    """Give lists for tuples.

    >>> write_spans({"day": ((0, 5), (8, 9)), "n": None})
    {'day': [[0, 5], [8, 9]], 'n': None}
    """
    return {
        column: None if found is None else [list(span) for span in found]
        for column, found in sorted(spans.items())
    }


def read_spans(written: Mapping[str, Sequence[Sequence[int]] | None]) -> Spans:
    """Read what `write_spans` gave."""
    return {
        column: None if found is None else tuple((low, high) for low, high in found)
        for column, found in written.items()
    }
