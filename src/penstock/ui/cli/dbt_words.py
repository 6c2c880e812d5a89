"""Words of dbt on a command line, and the nearest word for one that does not exist.

What means the same here is rewritten before click reads it; anything else gets a hint with the word
that does it here. docs/reference/dbt-words.md lists them.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from penstock.core.errors import UsageError

SAME_COMMANDS = {
    ("ls",): ("list",),
    ("parse",): ("validate",),
    ("debug",): ("doctor",),
    ("source", "freshness"): ("check", "--sources"),
}
"""Commands of dbt that penstock has under another name."""
OTHER_COMMANDS = {
    "clone": "penstock target clone FROM TO",
    "deps": "copy the macros of a package into packages/NAME/macros/; those of penstock_utils are "
    "there",
    "freshness": "penstock check --sources",
    "retry": "penstock run; it runs what failed or was skipped, and nothing that is current",
    "run-operation": 'penstock query "{{ MACRO() }}" shows the rows of a macro; no command runs '
    "other statements",
    "source": "penstock check --sources",
}
"""Commands of dbt that penstock does not have, with what does it here."""
_ON_AND_OFF = (
    *("partial-parse", "version-check", "static-parser", "send-anonymous-usage-stats"),
    *("populate-cache", "cache-selected-only", "introspect", "write-json"),
)
WITHOUT_EFFECT = frozenset(
    (
        *(f"--{each}" for each in _ON_AND_OFF),
        *(f"--no-{each}" for each in _ON_AND_OFF),
        *("--no-anonymous-usage-stats", "--no-favor-state", "--no-defer", "--no-warn-error"),
        *("--no-store-failures", "--no-use-experimental-parser", "--show-resource-report"),
    )
)
"""Flags of dbt that ask for what always happens here, or about what does not exist here."""
_NO_PROFILES = "leave it out; targets are in penstock.yml: --target NAME"
_A_RANGE = "penstock backfill MODEL --from D --to D, both inclusive"
_UNIT_TESTS = "penstock test runs models on the rows that a unit test gives"
OTHER_FLAGS = {
    "--args": 'penstock query "{{ MACRO(name=1) }}"',
    "--debug": "--verbose",
    "-d": "--verbose",
    "--dry-run": "penstock plan",
    "--empty": _UNIT_TESTS,
    "--event-time-start": _A_RANGE,
    "--event-time-end": _A_RANGE,
    "--favor-state": "leave it out; --defer-to reads only what is not built here",
    "--indirect-selection": "leave it out; a check runs with the model that it checks",
    "--inline": 'penstock query "select 1"',
    "--log-level": "--verbose or --quiet",
    "--log-path": "leave it out; logs are in .penstock/logs",
    "--no-use-colors": "set the environment variable NO_COLOR",
    "--output-keys": "--json",
    "--profile": _NO_PROFILES,
    "--profiles-dir": _NO_PROFILES,
    "--resource-type": "penstock build --resource-type TYPE, penstock list --resource-type TYPE",
    "--sample": _A_RANGE,
    "--static": "leave it out; the site is static: penstock docs generate",
    "--store-failures": "write store_failures: true at the check",
    "--target-path": "leave it out; artifacts are in .penstock/target",
    "--use-colors": "leave it out; a terminal gets colours",
    "--warn-error": "penstock validate --strict, penstock check --strict",
    "--warn-error-options": "penstock validate --strict, penstock check --strict",
}
"""Flags of dbt that penstock does not have, with what does it here."""
_ALONE = {"snapshot": ("snapshot", "run")}
"""Commands of dbt that are groups here, with what they do alone."""
_HELP = ("-h", "--help", "--version")
_WITH_VALUES = (
    *("--target", "--env", "-t", "--vars", "--project-dir", "--threads", "--log-format"),
    *("--log-level", "--log-path", "--profile", "--profiles-dir", "--target-path"),
)
"""Flags whose next word is not a command."""
_OF_SHOW = ("--select", "-s", "--models", "-m")
_ALIKE, _ALIKE_SHORT, _SHORT = 0.75, 0.6, 3


def translate(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the words of a command line with those of dbt that mean the same in penstock's.

    Raises `UsageError` for a command of dbt that penstock does not have.

    >>> translate(["--quiet", "source", "freshness", "--no-partial-parse"], ["check"])
    ['check', '--sources', '--quiet']
    >>> translate(["run", "--defer", "--state", "prod"], ["run"])
    ['run', '--defer-to', 'prod']
    """
    known = {*commands, *OTHER_COMMANDS, *(each[0] for each in SAME_COMMANDS)}
    found = _command_first(list(words), known)
    if found and found[0] in commands:
        found = _of_group(found)
    for theirs, ours in SAME_COMMANDS.items():
        if tuple(found[: len(theirs)]) == theirs:
            found = [*ours, *found[len(theirs) :]]
    if found and found[0] in OTHER_COMMANDS:
        sentence = f"{found[0]!r} is a command of dbt, and not of penstock"
        raise UsageError("unknown-command", sentence, hint=OTHER_COMMANDS[found[0]])
    if not found or found[0] not in commands:
        return list(words)
    kept = [found[0], *(word for word in found[1:] if word not in WITHOUT_EFFECT)]
    return _deferred(kept) if "--defer" in kept else kept


def _command_first(words: list[str], commands: Collection[str]) -> list[str]:
    """Move options that precede the command behind it, as dbt allows them there."""
    values = {n + 1 for n, word in enumerate(words) if word in _WITH_VALUES}
    at = next((n for n, word in enumerate(words) if word in commands and n not in values), 0)
    if not at or words[0] in _HELP or not words[0].startswith("-"):
        return words
    length = next((len(each) for each in SAME_COMMANDS if (*words[at : at + 2],) == each), 1)
    return [*words[at : at + length], *words[:at], *words[at + length :]]


def _of_group(words: list[str]) -> list[str]:
    """Rewrite `snapshot` without a subcommand, and `show --inline SQL`."""
    first, rest = words[0], words[1:]
    if first in _ALONE and (not rest or (rest[0].startswith("-") and rest[0] not in _HELP)):
        return [*_ALONE[first], *rest]
    if first != "show":
        return words
    given = [word.partition("=")[0] for word in rest]
    if "--inline" in given:
        at = given.index("--inline")
        sql = rest[at].partition("=")[2] if "=" in rest[at] else "".join(rest[at + 1 : at + 2])
        return ["query", *rest[:at], *rest[at + (1 if "=" in rest[at] else 2) :], sql]
    asked = next((n for n, word in enumerate(given) if word in _OF_SHOW), None)
    if asked is None:
        return words
    _, sign, value = rest[asked].partition("=")
    name = value if sign else "".join(rest[asked + 1 : asked + 2])
    sentence = f"show takes the name of a model, not {given[asked]}"
    query = f"select * from {{{{ ref('{name}') }}}}"
    hint = f'penstock show {name}; its rows: penstock query "{query}"'
    raise UsageError("bad-usage", sentence, hint=hint)


def _deferred(words: list[str]) -> list[str]:
    """Rewrite `--defer --state TARGET` as `--defer-to TARGET`."""
    rest = [word for word in words if word != "--defer"]
    for at, word in enumerate(rest):
        name, sign, value = word.partition("=")
        if name in ("--state", "--defer-state"):
            rest[at] = f"--defer-to={value}" if sign else "--defer-to"
            return rest
    if any(word.partition("=")[0] == "--defer-to" for word in rest):
        return rest
    sentence = "--defer does not say which target to read"
    raise UsageError("option-conflict", sentence, hint="write --defer-to TARGET instead")


def usage_error(error: click.ClickException) -> UsageError:
    """Return an error of click as one of penstock, with the word that was probably meant."""
    is_unknown = error.message.startswith("No such")  # what click finds near is our hint
    code = "unknown-command" if error.message.startswith("No such command") else "bad-usage"
    sentence = error.message if is_unknown else error.format_message()
    return UsageError(code, sentence, hint=_way_out(error))


def _way_out(error: click.ClickException) -> str:
    """Return the command that was probably meant."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return "penstock --help"
    command, path = context.command, context.command_path
    if isinstance(error, click.NoSuchOption):
        return _flag_instead(error.option_name, command, path)
    asked = error.message.partition("'")[2].rpartition("'")[0]
    if isinstance(command, click.Group):
        ours = {name: f"did you mean {path} {name}?" for name in command.list_commands(context)}
        same = {
            each[0]: f"did you mean penstock {' '.join(o)}?" for each, o in SAME_COMMANDS.items()
        }
        known = {**OTHER_COMMANDS, **same, **ours} if path == "penstock" else ours
        return next((known[near] for near in _near(asked, known)), f"{path} --help")
    if not error.message.startswith("Got unexpected extra argument"):
        return f"{path} --help"
    names = {param.name for param in command.params}
    words = error.message.partition("(")[2].rpartition(")")[0]
    first = context.params.get("project_1")
    if first is not None and not Path(first, "penstock.yml").is_file():
        words = f"{first} {words}"
    ways = [f"{path} --select {shlex.quote(words)}"] if "select" in names else []
    ways += ["a project's folder: --project-dir DIR"] if "project" in names else []
    return "; ".join(ways) or f"{path} --help"


def _flag_instead(name: str, command: click.Command, path: str) -> str:
    flags = [each for param in command.params for each in param.opts]
    theirs = OTHER_FLAGS.get(name, "")
    if theirs and not theirs.startswith("-"):
        return theirs
    near = [theirs] if theirs in flags else _near(name, flags)
    return f"did you mean {near[0]}?" if near else theirs or f"{path} --help"


def _near(written: str, names: Iterable[str]) -> list[str]:
    """Return a word with the same beginning or few different letters; None without one."""
    bare = {each.lstrip("-"): each for each in names}
    word = written.lstrip("-")
    near = [each for each in bare if len(word) > 1 and each.startswith(word)]
    near = near or get_close_matches(
        word, bare, 1, cutoff=_ALIKE if len(word) > _SHORT else _ALIKE_SHORT
    )
    return [bare[each] for each in near[:1]]
