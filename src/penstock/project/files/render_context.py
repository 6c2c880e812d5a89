"""What files are read in: variables, environment, target; the environment filled into YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.project.files.parsed import Dependency
from penstock.project.files.values import Path, Plain, digest

_CALL = re.compile(
    r"\{\{\s*env_var\(\s*(['\"])(?P<name>[^'\"]+)\1\s*"
    r"(?:,\s*(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<bare>[\w.-]+))\s*)?\)\s*\}\}"
)


@dataclass(frozen=True, slots=True)
class TargetView:
    """What a template may ask of its target."""

    name: str = ""
    catalog: str = ""
    schema_prefix: str = ""


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The world of one load."""

    environ: Mapping[str, str]
    vars: Mapping[str, Plain] = field(default_factory=dict)
    target: TargetView = TargetView()

    def read(self, kind: str, name: str = "") -> Dependency:
        """Note that a file depends on a variable of the environment, a var or the target.

        The note holds a digest: values of the environment may be secret and the cache is a file.
        """
        value: Plain
        match kind:
            case "env":
                value = self.environ.get(name)
            case "var":
                value = [self.vars[name]] if name in self.vars else None
            case _:
                value = [self.target.name, self.target.catalog, self.target.schema_prefix]
        return Dependency(kind, name, digest(json.dumps(value, sort_keys=True)))

    def agrees(self, reads: Sequence[Dependency]) -> bool:
        """Whether everything that was read is still the same."""
        return all(self.read(note.kind, note.name) == note for note in reads)


@dataclass(slots=True)
class Filled:
    """A tree with its variables filled in; `missing` tells which had neither value nor default."""

    tree: Plain
    names: set[str] = field(default_factory=set)
    missing: list[tuple[Path, str]] = field(default_factory=list)


def fill_environment(tree: Plain, environ: Mapping[str, str]) -> Filled:
    """Fill in every variable; a missing one becomes the empty text.

    >>> fill_environment({"a": "{{ env_var('HOST', 'db') }}:1"}, {}).tree
    {'a': 'db:1'}
    """
    filled = Filled(None)
    filled.tree = _fill(tree, (), environ, filled)
    return filled


def walk(tree: Plain, path: Path = ()) -> Iterator[tuple[Path, Plain]]:
    """Give every node with its path, parents first."""
    yield path, tree
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from walk(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from walk(value, (*path, index))


def _fill(tree: Plain, path: Path, environ: Mapping[str, str], filled: Filled) -> Plain:
    if isinstance(tree, Mapping):
        return {k: _fill(v, (*path, k), environ, filled) for k, v in tree.items()}
    if isinstance(tree, list):
        return [_fill(v, (*path, i), environ, filled) for i, v in enumerate(tree)]
    if not isinstance(tree, str) or "env_var" not in tree:
        return tree

    def value(call: re.Match[str]) -> str:
        name = call["name"]
        filled.names.add(name)
        if name in environ:
            return environ[name]
        defaults = (call["single"], call["double"], call["bare"])
        default = next((text for text in defaults if text is not None), None)
        if default is None:
            filled.missing.append((path, name))
        return default or ""

    return _CALL.sub(value, tree)
