# ruff: noqa: E501  lists of what is odd
"""Projects as nobody writes them: files, trees, tokens and names changed by chance.

Everything comes from one `random.Random`, so a number brings a mutant back.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from fakes.mutant_bases import Files

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_DOCUMENT = (".yml", ".yaml", ".json")
KINDS = ("folder", "fifo", "socket", "gone", "loop", "dangling", "device")
FUNCTIONS = [
    "date_trunc",
    "map",
    "date_add",
    "cast",
    "struct",
    "array",
    "transform",
    "filter",
    "aggregate",
    "explode",
    "from_json",
    "if",
    "interval",
    "extract",
    "position",
    "trim",
    "substring",
    "overlay",
    "convert",
    "decode",
    "nvl2",
    "case",
    "named_struct",
    "try_cast",
    "ref",
    "source",
    "config",
    "var",
    "env_var",
    "as_of",
    "is_incremental",
    "cents",
    "median",
    "percentile",
    "timestampdiff",
    "date_diff",
    "make_interval",
    "stack",
    "inline",
    "window",
    "sequence",
    "to_date",
    "grouping",
]
PIECES = (
    "", "()", "(a as b)", "as", "*", "'", '"', "`", "--", "/*", "*/", ";", "(", ")", "((((", ",", "|>",
    "select", "from", "with", "order by", "lateral view", "over (", "in (", "between", "interval 'x'",
    "@partition_date", "@", "$", "${", "}", "{destination}", "\\", "\0", "\ud800", "é", "\u2028", "😀",
    "1e999", "-1", "0", "99999999999999999999999", "null", "true", "[]", "{}", "2024-13-45", "9999-12-31",
    "0001-01-01", "&a", "*a", "<<: *a", "!!python/object:os.system", "!!binary x", "? ", "- ", ": ", "|\n",
    "%", "\t", "\r", "\r\n", "---\n", "..", "/", "../x", "s3a://k:v@b/x", "abfss://c@a/x", "hdfs://h/x", "jdbc:x",
    "{{", "}}", "{%", "%}", "{#", "{{ ref() }}", "{{ ref('users') }}", "{{ ref(1, 2, 3) }}", "{{ config(1) }}",
    "{{ source('raw') }}", "{{ as_of(1) }}", "{{ var(none) }}", "{{ env_var([]) }}", "{{ this.a }}", "{{ 1/0 }}",
    "{{ range(999999999) }}", "{{ 'x' * 999999999 }}", "{{ 9**9**9 }}", "{{ config(x=config) }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", "{% include 'money.sql' %}", "{% import x %}",
    "{% set x = [] %}{% for i in range(9999) %}{% set _ = x.append(x) %}{% endfor %}{{ x }}",
    "{{ config(materialized='snapshot') }}", "{{ config(tags={'a': [1, {2: 3}]}) }}", "{{ config(**{'': 1}) }}",
    "{{ env_var('HOME') }}", "{{ target }}", "{{ target.__class__.__mro__ }}", "{{ lipsum(9999) }}",
    "${{ versions.1.schema }}", "${{ file:x.yml }}", "{{ config(start='x', partition={}) }}",
)  # fmt: skip
NAMES = (
    "models/a\nb.sql", "models/a b.sql", "models/.sql", "models/\udcff.sql", "models/" + "x" * 200 + ".sql",
    "models/core/users.sql", "models/a.b.c.sql", "models/X.SQL", "models/é.sql", "models/a.yml", "models/%s.sql",
    "models/[b]x[/b].sql", "models/'.sql", "models/x.yaml/y.sql", "entities/a\nb.json", "sessions/\x1b[31m.yml",
    "tests/x\n.yml", "seeds/x\n.csv", "macros/\n.sql", "models/py/class.py", "models/py/a-b.py", "snapshots/a.sql",
    "packages.yml", "dbt_project.yml", "sessions/a.json", "entities/deep/er/x.yml", "seeds/a.parquet",
)  # fmt: skip
WORDS = (
    "x", "", "\0", "\udcff", "-", "--", "a\nb", "tag:", "tag:*", "path:..", "+", "+users+", "1+users", "*", "[", "@users",
    "state:modified", "source:raw.users", "2024-01-01", "9999-12-31", "{}", "kind:sql", "entity:x", "%s", "x" * 5000,
    "users", "flights", "web", "raw.users", "/", "../..", "s3a://k:secret@b/x", "resource_type:model", "2+x+99999999999",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """The files of a project, those that are no files by what they are, and words for commands."""

    base: str
    files: Mapping[str, bytes]
    kinds: Mapping[str, str]
    words: tuple[str, ...]

    def write(self, root: Path) -> None:
        """Write what the disk can hold of it."""
        for path, data in self.files.items():
            _place(root, path, lambda at, data=data: at.write_bytes(data))
        for path, kind in self.kinds.items():
            _place(root, path, lambda at, kind=kind: _KINDS[kind](at))


def _place(root: Path, path: str, put: Callable[[Path], object]) -> None:
    at = root / path
    try:
        at.parent.mkdir(parents=True, exist_ok=True)
        if not at.is_dir():
            at.unlink(missing_ok=True)
        put(at)
    except (OSError, ValueError):
        return  # what no disk holds is no input


def _socket(at: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(at))


_KINDS: Mapping[str, Callable[[Path], object]] = {
    "folder": lambda at: at.mkdir(),
    "fifo": os.mkfifo,
    "socket": _socket,
    "gone": lambda at: at.unlink(missing_ok=True),
    "loop": lambda at: at.symlink_to("."),
    "dangling": lambda at: at.symlink_to("nowhere"),
    "device": lambda at: at.symlink_to("/dev/zero"),
}


def mutant(number: int, bases: Mapping[str, Files]) -> Mutant:
    """Give the mutant of a number: one project with one change, or few."""
    chance = random.Random(number)  # noqa: S311  an order, no secret
    base = chance.choice(sorted(bases))
    files, kinds = dict(bases[base]), {}
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        path = chance.choice(sorted(each for each in files if not each.startswith(".")))
        way = chance.choice(WAYS)
        if way is _rename:
            files[chance.choice(NAMES)] = files[path]
        elif way is _retype:
            kinds[chance.choice((path, *NAMES))] = chance.choice(KINDS)
        elif not path.startswith(("landing/", "in/")):
            data = way(files[path], path, chance, files)
            files[path] = (path.endswith(".py") and b"while" in data and files[path]) or data
    words = tuple(chance.choice(WORDS) for _ in range(3))
    return Mutant(base, files, kinds, words)


def _bytes(data: bytes, _: str, chance: random.Random, __: Files) -> bytes:
    """Cut bytes out, put some in, or say some twice."""
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    end = min(end, start + chance.choice((1, 4, 40)))
    middle = chance.choice((b"", chance.randbytes(3), data[start:end] * 2, data[start:end][::-1]))
    return data[:start] + middle + data[end:]


def _tokens(data: bytes, _: str, chance: random.Random, files: Files) -> bytes:
    """Take words from elsewhere, or in another order."""
    tokens = _TOKEN.findall(data.decode("utf-8", "replace")) or [""]
    other = _TOKEN.findall(files[chance.choice(sorted(files))].decode("utf-8", "replace"))
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(tokens))
        to = chance.choice((at, chance.randrange(len(tokens))))
        put = chance.choice(
            ("", tokens[to], tokens[at] * 2, *other[:1], chance.choice(other or [""]))
        )
        tokens[at] = put
    return "".join(tokens).encode()


def _piece(data: bytes, _: str, chance: random.Random, __: Files) -> bytes:
    """Put in, or in place of a word, something that means much somewhere."""
    tokens = _TOKEN.findall(data.decode("utf-8", "replace")) or [""]
    at = chance.randrange(len(tokens))
    tokens[at] = chance.choice(("", tokens[at])) + chance.choice(PIECES)
    return "".join(tokens).encode("utf-8", "surrogatepass")


def _call(data: bytes, path: str, chance: random.Random, files: Files) -> bytes:
    """Call a function with other arguments than it takes; in YAML as a value."""
    count = chance.choice((0, 1, 1, 2, 3, 6))
    given = (
        chance.choice(
            ("a as b", "x -> x", "'a'", "1", "*", "a => 1", "distinct a", "current_date()", "null")
        )
        for _ in range(count)
    )
    call = f" {chance.choice(FUNCTIONS)}({', '.join(given)}) "
    tokens = _TOKEN.findall(data.decode("utf-8", "replace")) or [""]
    words = [at for at, token in enumerate(tokens) if token.isidentifier()]
    tokens[chance.choice(words or [0])] = call
    return "".join(tokens).encode()


def _tree(data: bytes, path: str, chance: random.Random, files: Files) -> bytes:
    """Give a node of a document another value or key, take it out, or put it elsewhere."""
    if not path.endswith(_DOCUMENT):
        return _piece(data, path, chance, files)
    try:
        tree = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError):
        return data
    for _ in range(chance.choice((1, 1, 2))):
        _change(tree, chance)
    if path.endswith(".json"):
        return json.dumps(tree, indent=1, default=str).encode("utf-8", "surrogatepass")
    try:
        return yaml.safe_dump(tree, sort_keys=False, width=10_000).encode("utf-8", "surrogatepass")
    except (yaml.YAMLError, UnicodeError):
        return data


def _change(tree: object, chance: random.Random) -> None:
    holders = [each for each in _nodes(tree) if each]
    if not holders:
        return
    holder, other = chance.choice(holders), chance.choice(holders)
    key = chance.choice([*holder]) if isinstance(holder, dict) else chance.randrange(len(holder))
    values = [*(other.values() if isinstance(other, dict) else other)]
    scalar = chance.choice(
        (None, True, 0, -1, 1.5, 10**30, float("nan"), "", "x", [], {}, [[]], {"": None})
    )
    new = chance.choice(
        (scalar, scalar, chance.choice(PIECES[:60]), copy.deepcopy(chance.choice(values)))
    )
    how = chance.choice(("value", "value", "key", "gone", "list"))
    if how == "gone":
        holder.pop(key)
    elif how == "key" and isinstance(holder, dict):
        name = (
            chance.choice(
                ("", "x", key * 2 if isinstance(key, str) else "x", 1, None, True, *other)
            )
            if isinstance(other, dict)
            else "x"
        )
        holder[name] = holder.pop(key)
    else:
        holder[key] = [new] if how == "list" else new


def _nodes(tree: object) -> list[dict | list]:
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    own = [tree] if isinstance(tree, dict | list) else []
    return own + [node for each in inside for node in _nodes(each)]


def _rename(data: bytes, *_: object) -> bytes:
    return data


def _retype(data: bytes, *_: object) -> bytes:
    return data


WAYS = (_bytes, _tokens, _piece, _piece, _call, _call, _tree, _tree, _tree, _rename, _retype)
