"""How the difference of two texts reads: of SQL, definitions and schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from penstock.app.documents import changed_lines
from penstock.app.reports import SqlDiff
from penstock.core.masking import mask
from penstock.ui.render.tables import RULE
from penstock.ui.render.values import CODE

COSMETIC = "SQL text changed, meaning unchanged."
ONLY_SECRETS = "changed in values that are never shown."


def diff_text(old: str, new: str, context: int = 0) -> str:
    """Return the changed lines between two rules."""
    return "\n".join([RULE, *map(mask, changed_lines(old, new, context)), RULE])


def sql_diff_text(diff: SqlDiff, context: int = 0, of: str = "") -> str:
    """Return the differences of two texts, then of their schemas.

    `of` says which partitions it is for, where a model has several pairs.
    """
    which = f" ({of})" if of else ""
    lines: list[str] = []
    if diff.before != diff.after:
        changed = f"{CODE[diff.kind]} changes detected{which}:"
        lines.append(f"{COSMETIC}{which}" if diff.cosmetic else changed)
        if changed_lines(diff.before, diff.after):
            lines.append(diff_text(diff.before, diff.after, context))
        lines.append("")
    elif diff.only_secrets:
        lines += [f"{CODE[diff.kind]} {ONLY_SECRETS}{which}", ""]
    elif which:
        lines += [f"SQL unchanged{which}.", ""]
    schema = ["Schema changes detected:", *diff.schema] if diff.schema else ["Schema unchanged."]
    return "\n".join([*lines, *schema])


def diffs_text(diffs: Sequence[SqlDiff], label_of: Callable[[SqlDiff], str]) -> str:
    """Return the differences of several pairs of texts, each once.

    So is each pair that it is the difference of.
    """
    same: dict[str, list[SqlDiff]] = {}
    for diff in diffs:
        same.setdefault(sql_diff_text(diff), []).append(diff)
    of = label_of if len(same) > 1 else lambda _: ""
    return "\n\n".join(
        sql_diff_text(found[0], of="; ".join(filter(None, map(of, found))))
        for found in same.values()
    )


def once(blocks: Iterable[tuple[str, str]]) -> list[str]:
    r"""Return each text once, below all heads that it is for.

    >>> once([("a:", "x"), ("b:", "y"), ("c:", "x")])
    ['a:\nc:\n\nx', 'b:\n\ny']
    """
    found: dict[str, list[str]] = {}
    for head, text in blocks:
        found.setdefault(text, []).append(head)
    return ["\n".join([*dict.fromkeys(heads), "", text]) for text, heads in found.items()]
