"""Values of a package's file from elsewhere: `{{ var() }}`, and settings of the target."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.core.findings import Finding
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import Path, Plain, did_you_mean

_VAR = re.compile(
    r"\{\{\s*var\(\s*(?P<quote>['\"])(?P<name>[^'\"]+)(?P=quote)\s*(?:,\s*(?P<default>[^)]*?)\s*)?\)"
    r"\s*\}\}"
)
FIXED = ("strategy", "name", "vars")
"""The keys that a target cannot set: they say which package it is."""


@dataclass(slots=True)
class FilledFile:
    """The content of a file with the values of its variables; `unknown` are those without one."""

    vars: Mapping[str, Plain]
    unknown: list[tuple[Path, str]] = field(default_factory=list)

    def fill(self, tree: Plain, path: Path = ()) -> Plain:
        """Replace every `{{ var() }}`; one that is the whole text keeps the type of its value.

        >>> FilledFile({"days": 2}).fill({"a": "{{ var('days') }}", "b": "x{{ var('c', 'd') }}"})
        {'a': 2, 'b': 'xd'}
        """
        if isinstance(tree, Mapping):
            return {key: self.fill(each, (*path, key)) for key, each in tree.items()}
        if isinstance(tree, list):
            return [self.fill(each, (*path, at)) for at, each in enumerate(tree)]
        if not isinstance(tree, str) or "var(" not in tree:
            return tree
        whole = _VAR.fullmatch(tree.strip())
        if whole is not None:
            return self._value(whole, path)
        return _VAR.sub(lambda call: _text(self._value(call, path)), tree)

    def _value(self, call: re.Match[str], path: Path) -> Plain:
        name, default = call["name"], call["default"]
        if name in self.vars:
            return self.vars[name]
        if default is None:
            self.unknown.append((path, name))
            return ""
        with suppress(ValueError, SyntaxError):
            found = ast.literal_eval(default)
            if found is None or isinstance(found, str | int | float | bool | list):
                return found
        return {"true": True, "false": False, "null": None}.get(default, default)


def _text(value: Plain) -> str:
    return "" if value is None else str(value)


def target_keys(
    targets: YamlNode, target: str, findings: list[Finding]
) -> dict[str, Mapping[str, YamlNode]]:
    """Return what a target sets for session packages, by package."""
    found: dict[str, Mapping[str, YamlNode]] = {}
    packages = (
        targets.members[target].members.get("sessions") if target in targets.members else None
    )
    for name, node in packages.members.items() if packages else ():
        if not isinstance(node.value, Mapping):
            sentence = f"sessions.{name} is not a mapping of keys"
            findings.append(
                Finding(node.where, "bad-value", sentence, "write {start_date: 2024-01-01}")
            )
            continue
        for key in FIXED:
            if key in node.members:
                sentence = f"a target cannot set {key!r} of a session package"
                hint = "write it in the package's file"
                findings.append(Finding(node.members[key].key, "bad-value", sentence, hint))
        found[name] = {key: each for key, each in node.members.items() if key not in FIXED}
    return found


def unknown_packages(
    targets: YamlNode, target: str, packages: Collection[str]
) -> Iterator[Finding]:
    """Report settings of packages that the project does not have."""
    written = targets.members[target].members.get("sessions") if target in targets.members else None
    for name, node in written.members.items() if written else ():
        if name not in packages and isinstance(node.value, Mapping):
            sentence = f"no session package is called {name!r}"
            hint = did_you_mean(name, packages) or f"there are: {', '.join(packages) or 'none'}"
            yield Finding(node.key, "unknown-reference", sentence, hint)
