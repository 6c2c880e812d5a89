"""Two texts of one query, compared line by line (spec of the look: `sync --dry-run`)."""

from __future__ import annotations

from difflib import SequenceMatcher

from penstock.core.masking import mask

RULE = "─" * 39


def changed_lines(old: str, new: str) -> tuple[str, ...]:
    r"""Give the lines that differ, old ones with `-` and new ones with `+`, as written.

    >>> changed_lines("select a,\n    b", "select a,\n    c")
    ('-     b', '+     c')
    """
    before, after = old.splitlines(), new.splitlines()
    result: list[str] = []
    for kind, i, j, k, n in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            result += [f"- {line}".rstrip() for line in before[i:j]]
            result += [f"+ {line}".rstrip() for line in after[k:n]]
    return tuple(result)


def diff_text(old: str, new: str) -> str:
    """Give the changed lines between two rules."""
    return "\n".join([RULE, *(mask(line) for line in changed_lines(old, new)), RULE])
