"""What a model depends on outside its code: files, variables, packages, parameters, a version.

The fingerprint of the settings holds a digest of each; of a parameter, its value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest
from importlib import metadata
from pathlib import Path, PurePath

from penstock.core.findings import Finding, Location, Severity
from penstock.core.masking import SECRETS, is_secret_key
from penstock.core.model import PARAMETER, Fingerprint, Model
from penstock.project.files.discovery import odd_file, unreadable
from penstock.project.files.values import digest
from penstock.project.settings.config import Config

_ENV, _PACKAGE = "env:", "pkg:"
_OWN = ".penstock"
_LONG = 80
_FORMS = "write conf/*.yml or conf/**/*.yml, from the project's root, env:NAME or pkg:NAME"


def is_outside(entry: str) -> bool:
    """Return whether an entry of `depends_on` names a variable, a package or files.

    >>> [is_outside(each) for each in ("users", "raw.events", "env:RATE", "./a.yml", "conf/*.yml")]
    [False, False, True, True, True]
    """
    return entry.startswith((_ENV, _PACKAGE)) or any(sign in entry for sign in "/*?")


@dataclass(slots=True)
class Outside:
    """Reads what models depend on outside their code, each entry once."""

    root: Path
    environ: Mapping[str, str]
    findings: list[Finding]
    texts: dict[str, tuple[str, ...]]
    """What was read for each entry."""

    def applied(self, model: Model, config: Config) -> Model:
        """Return the model with what it depends on in the fingerprint of its settings."""
        where, version = config.own.get("depends_on", model.where), config.text("version")
        entries = config.texts("depends_on")
        if model.function is None:
            entries = tuple(filter(is_outside, entries))
        lines = [line for entry in entries for line in self.lines(entry, where)]
        lines += [f"version {digest(version)[:16]}"] if version else []
        lines += [
            f"{PARAMETER}{name} {json.dumps(v, sort_keys=True)}" for name, v in model.params.items()
        ]
        if not lines:
            return model
        text = "\n".join((f"settings {model.fingerprint.settings}", *dict.fromkeys(lines)))

        def code(before: Fingerprint) -> Fingerprint:
            return replace(before, settings=digest(text))

        changed = model.with_bodies(lambda each: replace(each, fingerprint=code(each.fingerprint)))
        return replace(changed, fingerprint=code(model.fingerprint), outside=text)

    def lines(self, entry: str, where: Location) -> tuple[str, ...]:
        """Return what an entry stands for now."""
        if entry not in self.texts:
            self.texts[entry] = tuple(self._read(entry, where))
        return self.texts[entry]

    def _read(self, entry: str, where: Location) -> Iterator[str]:
        _, _, name = entry.partition(":")
        if not entry.strip() or entry in (_PACKAGE, _ENV):
            self._find(where, "bad-value", f"depends_on: {entry!r} names nothing", _FORMS)
        elif entry.startswith(_PACKAGE):
            yield f"{entry} {self._package(name, where)}"
        elif not entry.startswith(_ENV):
            yield from self._files(entry, where)
        elif is_secret_key(name) or self.environ.get(name) in SECRETS.forms:
            hint = "remove it, and raise version= when a new secret changes the rows"
            self._find(where, "bad-value", f"depends_on: {entry!r} looks like a secret", hint)
        else:
            value = self.environ.get(name)
            yield f"{entry} {'unset' if value is None else digest(value)[:16]}"

    def _find(self, where: Location, code: str, sentence: str, hint: str = "") -> None:
        severity = Severity.WARNING if code == "no-match" else Severity.ERROR
        self.findings.append(Finding(where, code, sentence, hint, severity))

    def _package(self, name: str, where: Location) -> str:
        try:
            return metadata.version(name)
        except (metadata.PackageNotFoundError, ValueError):
            sentence = f"depends_on: package {name!r} is not installed"
            self._find(where, "no-match", sentence, "write the name that pip list shows")
            return "absent"

    def _files(self, pattern: str, where: Location) -> Iterator[str]:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            sentence = f"depends_on: {pattern!r} is not a path from the project's root"
            return self._find(where, "path-outside-project", sentence)
        try:
            matches = sorted(self.root.glob(pattern))
        except (ValueError, IndexError, OSError):
            sentence = f"depends_on: {pattern[:_LONG]!r} is not a pattern of files"
            return self._find(where, "bad-value", sentence, _FORMS)
        self._look_into(PurePath(pattern).parts[:-1])
        found = False
        for path in matches:
            shown = path.relative_to(self.root).as_posix()
            if shown.partition("/")[0] != _OWN and not path.is_dir():
                found = True
                yield f"{shown} {self._digest(path, shown)}"
        if not found:
            is_folder = any(map(Path.is_dir, matches))
            hint = f"for all files below a folder write {pattern.rstrip('/*') or '.'}/**/*"
            sentence = f"depends_on: no file matches {pattern!r}"
            self._find(where, "no-match", sentence, hint if is_folder else _FORMS)
        return None

    def _look_into(self, folders: Sequence[str]) -> None:
        """Report unreadable folders on the way: a glob skips them silently."""
        patterns = ("/".join(folders[:depth]) for depth in range(1, len(folders) + 1))
        for folder in dict.fromkeys(each for p in patterns for each in self.root.glob(p)):
            if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
                shown = folder.relative_to(self.root).as_posix()
                self.findings.append(unreadable(shown, PermissionError(0, "Permission denied")))

    def _digest(self, path: Path, name: str) -> str:
        finding = odd_file(path, name)
        if finding is None:
            try:
                with path.open("rb") as file:
                    return file_digest(file, "sha256").hexdigest()[:16]
            except OSError as error:
                finding = unreadable(name, error)
        self.findings.append(finding)
        return "unreadable"
