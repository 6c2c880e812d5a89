"""Two texts of one query, compared line by line (spec/drift.md §10)."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from penstock.app.reports import SqlDiff
from penstock.core.masking import mask

RULE = "─" * 39
COSMETIC = "SQL text changed, meaning unchanged."


def changed_lines(old: str, new: str, context: int = 0) -> tuple[str, ...]:
    r"""Give the lines that differ, old ones with `-` and new ones with `+`, as written.

    `context` is how many equal lines stand around them, with two blanks in front.

    >>> changed_lines("select a,\n    b", "select a,\n    c")
    ('-     b', '+     c')
    >>> changed_lines("select a,\n    b", "select a,\n    c", context=3)
    ('  select a,', '-     b', '+     c')
    """
    before, after = old.splitlines(), new.splitlines()
    result: list[str] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        for kind, i, j, k, n in group:
            if kind == "equal":
                result += [f"  {line}" for line in before[i:j]]
            else:
                result += [f"- {line}" for line in before[i:j]]
                result += [f"+ {line}" for line in after[k:n]]
    return tuple(result)


def diff_text(old: str, new: str, context: int = 0) -> str:
    """Give the changed lines between two rules."""
    return "\n".join([RULE, *(mask(line) for line in changed_lines(old, new, context)), RULE])


def sql_diff_text(diff: SqlDiff, context: int = 0, of: str = "") -> str:
    """Give what differs between two texts, then between their schemas.

    `of` says which partitions it is for, where a model has several pairs.
    """
    return "\n".join(_blocks(diff, context, of))


def _blocks(diff: SqlDiff, context: int, of: str) -> Iterator[str]:
    which = f" ({of})" if of else ""
    if diff.before != diff.after:
        yield f"{COSMETIC}{which}" if diff.cosmetic else f"SQL changes detected{which}:"
        if changed_lines(diff.before, diff.after):
            yield diff_text(diff.before, diff.after, context)
        yield ""
    elif which:
        yield f"SQL unchanged{which}."
        yield ""
    if diff.schema:
        yield "Schema changes detected:"
        yield from diff.schema
    else:
        yield "Schema unchanged."
