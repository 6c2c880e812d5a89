"""Completion of names in a shell: models, selectors, targets and partitions.

Option names and choices are click's. The names are those of the last command on the project
(`app/services/files.py`): a shell waits for every key, so no project is loaded and the file of no
command is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, ShellComplete, get_completion_class

VARIABLE = "_PENSTOCK_COMPLETE"
NAMES = Path(".penstock", "cache", "names.json")  # `app.services.files.NAMES`
_SELECTION = {"-s", "--select", "--exclude"}
_MODEL = {"--query", "--model", "--models", "-m"}
_KINDS = {
    **dict.fromkeys(_SELECTION, "selectors"),
    **dict.fromkeys(_MODEL, "models"),
    **dict.fromkeys(("--target", "--env", "-t", "--defer-to"), "targets"),
    **dict.fromkeys(("--from", "--to", "--date", "--partition"), "keys"),
}
"""Options whose values are names, with the kind of name."""
ARGUMENTS = {
    **dict.fromkeys(
        [
            *["show", "backfill", "rollback", "snapshot verify", "snapshot migrate", "diff"],
            *[
                "snapshot backfill",
                "history",
                "accept",
                "watermark show",
                "watermark set",
                "watermark reset",
            ],
        ],
        "models",
    ),
    **dict.fromkeys(["entities show", "entities slices"], "entities"),
    "sessions": "packages",
    "target clone": "targets",
}
"""Commands with a name as an argument, with the kind of name."""


def complete(commands: click.Command, instruction: str) -> bool:
    """Print the names that match the word at the cursor; return False if click completes it."""
    shell, _, what = instruction.partition("_")
    found = get_completion_class(shell)
    if what != "complete" or found is None:
        return False
    completer = found(commands, {}, "penstock", VARIABLE)
    typed, at_cursor = completer.get_completion_args()
    words, start = joined(typed, at_cursor)
    values = matches(words, start) if words else None
    if values is None:
        return False
    # where bash took the word apart, it replaces what follows the colon
    is_cut = isinstance(completer, BashComplete) and start != at_cursor
    cut = start.rfind(":") + 1 if is_cut else 0
    click.echo("\n".join(_lines(completer, (value[cut:] for value in values))))
    return True


def _lines(completer: ShellComplete, values: Iterable[str]) -> Iterable[str]:
    return (completer.format_completion(CompletionItem(value)) for value in values)


def joined(words: Sequence[str], start: str) -> tuple[list[str], str]:
    """Join what bash splits at `:` and `=`.

    >>> joined(["run", "--select", "tag", ":"], "da")
    (['run', '--select'], 'tag:da')
    >>> joined(["run", "--select", "="], "da")
    (['run', '--select'], 'da')
    """
    before = list(words)
    if start in (":", "="):
        before, start = [*before, start], ""
    if len(before) > 1 and before[-1] == ":":
        return before[:-2], f"{before[-2]}:{start}"
    return [each for each in before if each != "="], start


def matches(words: Sequence[str], start: str) -> list[str] | None:
    """Return the names that begin with the word; None if no name is expected."""
    option, is_equal, value = start.partition("=")
    if is_equal and option in _KINDS:
        kind, start, lead = _KINDS[option], value, f"{option}="
    else:
        kind, lead = _kind_at(words, start), ""
    if not kind:
        return None
    names = _read(words)
    if kind == "keys":
        return [lead + each for each in _keys(names, words) if each.startswith(start)]
    if kind != "selectors":
        return [lead + each for each in names.get(kind, ()) if each.startswith(start)]
    sign = max(start.rfind(each) for each in "+@,") + 1  # what stands before a name in a selector
    offered = [*names.get("models", ()), *names.get("selectors", ())]
    return [lead + start[:sign] + each for each in offered if each.startswith(start[sign:])]


def _kind_at(words: Sequence[str], start: str) -> str:
    if words[-1] in _KINDS:
        return _KINDS[words[-1]]
    if start.startswith("-") or words[-1].startswith("-"):
        return ""
    path = f"{' '.join(words)} "
    return next((kind for each, kind in ARGUMENTS.items() if path.startswith(f"{each} ")), "")


def _read(words: Sequence[str]) -> Mapping[str, Any]:
    """Read the names of the project in the words, or of this folder; None if there is none."""
    places = [after for word, after in pairwise(words) if word == _FOLDER]
    places += [word for word in words if Path(word, "penstock.yml").is_file()]
    try:
        text = Path(*places[:1], NAMES).read_text(encoding="utf-8")
        document: Mapping[str, Any] = json.loads(text)
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


_FOLDER = "--project-dir"


def _keys(names: Mapping[str, Any], words: Sequence[str]) -> list[str]:
    """Return keys of the models among the words, or of every grid of the project."""
    models, keys = names.get("models", {}), names.get("keys", {})
    grids = {models[word.strip("+@")] for word in words if models.get(word.strip("+@"))}
    return [key for grid in keys if grid in grids or not grids for key in keys[grid]]
