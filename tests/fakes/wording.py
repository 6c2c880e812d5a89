"""What no message may hold, and what a hint may name: for tests of all that people read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

import penstock
from penstock.project.editor_schemas import descriptions
from penstock.ui.cli.main import commands

SRC = Path(penstock.__file__).parent
THEIR_OWN = {"model-failed", "python-import-failed"}
"""Codes whose sentences name the class that a user's code raised."""
_ODD = re.compile(
    r"object at 0x|(?i:penstock:(?:\d|this|ref))|Traceback \(most"
    r"|<(?:class|function|module|bound method|Token)\b"
    r"|\bpenstock\.(?:app|core|engine|plan|project|state|strategies|ui)\b"
    r"|\b(?:sqlglot|jinja2|pydantic(?:_core)?|deltalake|sqlalchemy|alembic|py4j|psycopg"
    r"|yaml|click|pyarrow)\.[a-z_]+\.?[A-Za-z_]*\b(?!\.(?:yml|yaml))"
)
_RAISED = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Undefined)\b")
_COMMAND = re.compile(r"\bpenstock ((?:[a-z]+ ?)+)")
_SAID = re.compile(r"^(?:\S+: )?(?:error|warning): ([a-z-]+): (.*)$", re.MULTILINE)
_HINT = re.compile(r"^ *hint: (.*)$", re.MULTILINE)
_VERBS = {
    "adds",
    "cannot",
    "changes",
    "has",
    "in",
    "knows",
    "then",
    "writes",
}  # of penstock itself, in a sentence
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_KEY = re.compile(r"(?<!vars: )(?<![\w/.'\"{*])([a-z]+(?:_[a-z]+)+)(?=: )")


@cache
def class_names() -> frozenset[str]:
    """Return the names of penstock's classes that are no ordinary words."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SRC.rglob("*.py"))
    names = {n.name for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    return frozenset(name for name in names if re.search(r"[a-z][A-Z]", name))


def internals(text: str, code: str = "") -> list[str]:
    """Return what a message says of how penstock and its libraries are made.

    >>> internals("Expected a name but got <Token text: x>"), internals("42 is no name")
    (['<Token'], [])
    """
    found = _ODD.findall(text)
    if code not in THEIR_OWN:
        found += _RAISED.findall(text)
        found += [word for word in re.findall(r"\b\w+\b", text) if word in class_names()]
    return found


def wrong_names(hint: str) -> Iterator[str]:
    """Yield the commands, flags and keys that a hint names and that do not exist.

    >>> [*wrong_names("penstock rum --full-refresh; penstock list --bogus; write full_moon: true")]
    ['penstock rum', '--bogus', 'full_moon:']
    """
    known = flags()
    for clause in re.split(r";|, or | or (?=penstock )", hint):
        own = known
        if "pip install" in clause:
            continue
        named = _COMMAND.search(clause)
        if named and named[1].split()[0] not in _VERBS:
            command = command_of(named[1].split())
            if command is None:
                yield f"penstock {named[1].strip()}"
            else:
                own = flags_of(command)
        yield from (flag for flag in _FLAG.findall(clause) if flag not in own)
    yield from (f"{key}:" for key in _KEY.findall(hint) if key not in keys())


def unhelpful(code: str, sentence: str, hint: str) -> list[str]:
    """Return what is wrong with the words of an error or a finding."""
    named = [f"names {each}" for each in (*internals(sentence, code), *internals(hint, code))]
    return named + [f"there is no {each}" for each in wrong_names(hint)]


def unhelpful_lines(output: str) -> list[str]:
    """Return what is wrong with the errors, findings and hints that a command printed.

    >>> unhelpful_lines("error: no-match: <class 'x'>\\n  hint: penstock rum\\n")
    ['names <class', 'there is no penstock rum']
    """
    found = [unhelpful(each[1], each[2], "") for each in _SAID.finditer(output)]
    found += [unhelpful("", "", each[1]) for each in _HINT.finditer(output)]
    return [each for one in found for each in one]


def command_of(words: list[str]) -> click.Command | None:
    """Return the command that words begin with; None if there is none."""
    at: click.Command = commands
    for word in words:
        if not isinstance(at, click.Group):
            break
        if (below := at.get_command(click.Context(at), word)) is None:
            return None
        at = below
    return at


def flags_of(command: click.Command) -> set[str]:
    """Return the flags of a command, of a group those of all below it."""
    found = {each for param in command.params for each in (*param.opts, *param.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        below = (command.get_command(context, name) for name in command.list_commands(context))
        found |= {flag for each in below if each for flag in flags_of(each)}
    return found | {"--help"}


@cache
def flags() -> frozenset[str]:
    """Return every flag."""
    return frozenset(flags_of(commands))


@cache
def keys() -> frozenset[str]:
    """Return every key that the reference explains."""
    return frozenset(key for section in descriptions().values() for key in section)
