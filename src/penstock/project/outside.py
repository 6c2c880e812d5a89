"""What a model depends on outside of its code: files, variables, packages, a version by hand.

`depends_on` and `version` name it; each counts in the fingerprint of the settings by a digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from penstock.core.findings import Finding, Location, Severity
from penstock.core.masking import SECRETS, is_secret_key
from penstock.core.model import Body, Model, Version
from penstock.project.files.values import digest
from penstock.project.settings.config import Config

_ENV, _PACKAGE = "env:", "pkg:"
_OWN = ".penstock"


def is_outside(entry: str) -> bool:
    """Whether an entry of `depends_on` names no model: a variable, a package or files.

    >>> [is_outside(each) for each in ("users", "raw.events", "env:RATE", "./a.yml", "conf/*.yml")]
    [False, False, True, True, True]
    """
    return entry.startswith((_ENV, _PACKAGE)) or any(sign in entry for sign in "/*?")


@dataclass(slots=True)
class Outside:
    """Reads what models depend on, each thing once."""

    root: Path
    environ: Mapping[str, str]
    findings: list[Finding]
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def applied(self, model: Model, config: Config | None) -> Model:
        """Let what a model depends on count in its settings."""
        if config is None:
            return model
        where, version = config.own.get("depends_on", model.where), config.text("version")
        entries = [
            each
            for each in config.texts("depends_on")
            if model.function is not None or is_outside(each)
        ]
        lines = [line for entry in entries for line in self._lines(entry, where)]
        lines += [f"version {digest(version)[:16]}"] if version else []
        if not lines:
            return model
        before = model.fingerprint.settings
        text = "\n".join((f"settings {before}", *dict.fromkeys(lines)))

        def body(each: Body) -> Body:
            return replace(each, fingerprint=replace(each.fingerprint, settings=digest(text)))

        def whole(each: Version) -> Version:
            return replace(each, body=body(each.body), revisions=tuple(map(body, each.revisions)))

        code = replace(model.fingerprint, settings=digest(text))
        versions = tuple(map(whole, model.versions))
        return replace(model, fingerprint=code, versions=versions, outside=text)

    def _lines(self, entry: str, where: Location) -> tuple[str, ...]:
        if entry not in self._known:
            self._known[entry] = tuple(self._read(entry, where))
        return self._known[entry]

    def _read(self, entry: str, where: Location) -> Iterator[str]:
        _, _, name = entry.partition(":")
        if entry.startswith(_PACKAGE):
            yield f"{entry} {self._package(name, where)}"
        elif entry.startswith(_ENV):
            value = self.environ.get(name)
            if is_secret_key(name) or value in SECRETS.known:
                sentence = f"depends_on names {entry!r}, which looks like a secret"
                hint = "take it out, and raise version= where a new secret means other rows"
                self.findings.append(Finding(where, "bad-value", sentence, hint))
            else:
                yield f"{entry} {'unset' if value is None else digest(value)[:16]}"
        else:
            yield from self._files(entry, where)

    def _package(self, name: str, where: Location) -> str:
        try:
            return metadata.version(name)
        except (metadata.PackageNotFoundError, ValueError):
            sentence = f"depends_on names package {name!r}, which is not installed"
            hint = "write the name that pip list shows"
            self.findings.append(Finding(where, "no-match", sentence, hint, Severity.WARNING))
            return "absent"

    def _files(self, pattern: str, where: Location) -> Iterator[str]:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            sentence = f"depends_on names {pattern!r}, which lies outside of the project"
            self.findings.append(Finding(where, "path-outside-project", sentence))
            return
        paths = {each.relative_to(self.root): each for each in self.root.glob(pattern)}
        files = {p: f for p, f in paths.items() if p.parts[0] != _OWN and f.is_file()}
        for path in sorted(files):
            yield f"{path.as_posix()} {sha256(files[path].read_bytes()).hexdigest()[:16]}"
        if not files:
            sentence = f"depends_on names {pattern!r}, and no file of the project is called so"
            hint = "write paths from the root of the project: conf/*.yml, env:NAME or pkg:name"
            self.findings.append(Finding(where, "no-match", sentence, hint, Severity.WARNING))
