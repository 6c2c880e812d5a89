"""The whole project of an earlier load, for loads of which nothing has changed.

A load depends on files, on variables and on the code of penstock. Files are compared by content,
never by their times, and everything else by digest. Values of the environment are kept only where
the parse cache keeps them, and never a secret.

The project is a pickle, for speed. Its reader makes values of `core` and of penstock's strategies
and nothing else, and reads no file that another user could write.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from penstock.core.checks.check import Checks
from penstock.core.checks.check_type import check_types
from penstock.core.findings import Location
from penstock.core.masking import SECRETS, without_secrets
from penstock.core.project import Project, ProjectSettings
from penstock.core.strategy import Layout, Strategy, strategies
from penstock.project.files.cache import DAMAGE, Entry, versions, write_private
from penstock.project.files.discovery import PROJECT_FILE, Content, Discovery, discover
from penstock.project.files.values import Plain, digest
from penstock.project.first_pass import FirstPass
from penstock.project.outside import Outside
from penstock.project.settings.project import Settings, digest_of_file

FORMAT = 1
_OWN_CODE = ("core", "project", "strategies")
_ROOMS = ("penstock.core.", "penstock.strategies.")
_PARTS = (
    *("models", "sources", "seeds", "findings", "packages"),
    *("hooks", "exposures", "groups", "selectors"),
)
"""The fields of a project that do not come from its settings."""
_HERE = Location("")
_DAMAGE = (*DAMAGE, pickle.UnpicklingError, EOFError, ImportError, OSError, RecursionError)


@dataclass(frozen=True, slots=True)
class _LoadReads:
    """What a load has read, by digest; "" is a file or a variable that is not there."""

    settings: Entry
    """The parsed penstock.yml."""
    names: str
    """The names of all files, and the values that are hidden."""
    files: Mapping[str, str]
    seeds: Mapping[str, str]
    searched: Mapping[str, bool]
    """Files of which only the existence counts."""
    variables: Mapping[str, str]
    outside: Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class ProjectCache:
    """The project of an earlier load; `path` is None if none may be kept."""

    path: Path | None
    key: str
    before: _LoadReads | None = None
    body: bytes = b""
    hidden: str = ""
    """A digest of the values that are hidden once the settings are read."""

    def recall(self, settings: Settings, first: FirstPass) -> Project | None:
        """Return the project with the settings of now; None if anything else has changed."""
        self.hidden = digest("\n".join(sorted(SECRETS.forms)))
        try:
            if self.before is None or not self._agrees(self.before, settings, first):
                return None
            places, parts = _Reader(BytesIO(self.body)).load()
        except _DAMAGE:
            return None
        target = replace(settings.target, places=places)
        own = {each.name: getattr(settings, each.name) for each in fields(ProjectSettings)}
        return Project(**{**own, "target": target}, root=str(first.root), **parts)

    def _agrees(self, before: _LoadReads, settings: Settings, first: FirstPass) -> bool:
        names = discover(first.root, *settings.places(first.yaml_file(PROJECT_FILE)))
        outside = Outside(first.root, first.environ, [], {})
        return (
            before.names == self._names(names)
            and all(_of(first.environ.get(name)) == then for name, then in before.variables.items())
            and all(first.has(path) is answer for path, answer in before.searched.items())
            and all(_digest(first.content(path)) == then for path, then in before.files.items())
            and all(digest_of_file(path) == then for path, then in before.seeds.items())
            and all(outside.lines(each, _HERE) == then for each, then in before.outside.items())
        )

    def keep(self, project: Project, names: Discovery, first: FirstPass) -> None:
        """Write a project for the next load, unless a part of it may be in no file."""
        settings = first.cache.current.get(PROJECT_FILE)
        filled = (path for path, each in first.documents.items() if each.reads_environment)
        is_open = first.is_open or project.entities or any(path != PROJECT_FILE for path in filled)
        if self.path is None or settings is None or is_open:
            return
        read = _LoadReads(
            settings,
            self._names(names),
            {path: _digest(each) for path, each in first.contents.items()},
            {each.path: each.digest for each in project.seeds.values()},
            first.searched,
            {name: _of(value) for name, value in first.environ.reads.items()},
            first.outside,
        )
        try:
            parts = {name: getattr(project, name) for name in _PARTS}
            body = _written((dict(project.target.places), parts))
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            return  # a function, or a strategy that is not ours
        text = body.decode("utf-8", "replace")
        if SECRETS.hide(text) != text or without_secrets(text, first.secrets) != text:
            return
        rest = json.dumps(astuple(read)).encode() + b"\n" + body
        write_private(self.path, f"{zlib.crc32(rest)} {self.key}\n".encode() + rest)

    def _names(self, names: Discovery) -> str:
        return digest(f"{names!r} {self.hidden}")


def open_project_cache(
    root: Path, target: str | None, variables: Mapping[str, Plain], *, use: bool
) -> ProjectCache:
    """Read the project of an earlier load with the same target and variables, if there is one."""
    if not use:
        return ProjectCache(None, "")
    asked = json.dumps([str(root), target, variables, sys.version], sort_keys=True, default=repr)
    types = [f"{each.__module__}.{each!r}" for each in _registered()]
    key = digest(f"{FORMAT} {versions()} {_own_code()} {types} {asked}")
    name = f"project-{digest(target)[:8]}" if target else "project"
    path = root / ".penstock" / "cache" / f"{name}.bin"
    try:
        with path.open("rb") as file:
            if not _is_own(os.fstat(file.fileno())):
                return ProjectCache(path, key)
            head = file.readline().decode().split()
            if head[1] != key:
                return ProjectCache(path, key)
            rest = file.read()
        if int(head[0]) != zlib.crc32(rest):
            return ProjectCache(path, key)
        line, _, body = rest.partition(b"\n")
        settings, names, *digests, outside = json.loads(line)
        files, seeds, asked, named = digests
        lines = {entry: tuple(each) for entry, each in outside.items()}
        before = _LoadReads((settings[0], settings[1]), names, files, seeds, asked, named, lines)
        return ProjectCache(path, key, before, body)
    except _DAMAGE:
        return ProjectCache(path, key)


def _registered() -> Iterator[type]:
    yield from strategies().values()
    yield from check_types().values()


def _is_own(file: os.stat_result) -> bool:
    """Return whether only this user, or root, can have written a file."""
    own = getattr(os, "geteuid", lambda: file.st_uid)()
    return file.st_uid == own and not file.st_mode & 0o022


def _digest(content: Content | None) -> str:
    return content.digest if content else ""


def _of(value: str | None) -> str:
    return "" if value is None else digest(value)


@cache
def _own_code() -> str:
    """Return a digest of the names, sizes and times of penstock's own files.

    The version alone does not tell an edited checkout from what it was.
    """
    found, left = list[str](), [str(Path(__file__).parents[1] / each) for each in _OWN_CODE]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    left += [entry.path] * (entry.name != "__pycache__")
                else:
                    known = entry.stat()
                    found.append(f"{entry.path} {known.st_size} {known.st_mtime_ns}")
    return digest("\n".join(sorted(found)))


class _Reader(pickle.Unpickler):
    """Reads values of our own classes; a file cannot name any other class or function."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401  a class
        """Return a class or function that a file may name; raise `UnpicklingError`."""
        is_other = (module, name) in _OTHERS
        if not is_other and not module.startswith(_ROOMS):
            raise pickle.UnpicklingError(name)
        found = getattr(import_module(module), name, None)
        if not is_other and not _is_value(found):
            raise pickle.UnpicklingError(name)
        return found


_OTHERS = {
    *(("datetime", each) for each in ("date", "datetime", "timedelta")),
    ("decimal", "Decimal"),
    ("penstock.project.checks.kept", "kept_checks"),
}
"""What else a file may name; the last is imported where there are checks."""


def _is_value(kind: Any) -> bool:  # noqa: ANN401  of any type
    return isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Enum))


class _Writer(pickle.Pickler):
    """Writes a dataclass as a call with its fields, and equal settings of models once."""

    def __init__(self, file: BytesIO) -> None:
        super().__init__(file, protocol=5)
        self._fields: dict[type, list[str]] = {}
        self._shared: dict[str, object] = {}

    def reducer_override(self, value: Any) -> Any:  # noqa: ANN401  of any type
        """Return the call that makes a value."""
        kind = type(value)
        if isinstance(value, Checks) and value != Checks():
            from penstock.project.checks.kept import kept_checks, packed_checks

            return kept_checks, (packed_checks(value), value.on_failure)
        names = self._fields.get(kind)
        if names is None:
            if not is_dataclass(kind):
                return NotImplemented
            if not kind.__module__.startswith(_ROOMS):
                raise pickle.PicklingError(kind)
            names = self._fields[kind] = [each.name for each in fields(kind) if each.init]
        return kind, tuple(self._one(getattr(value, name)) for name in names)

    def _one(self, value: Any) -> Any:  # noqa: ANN401  of any type
        """Return the first of the equal values of a type with few distinct ones."""
        if isinstance(value, Strategy | Layout | dict):
            return self._shared.setdefault(repr(value), value)
        return value


def _written(value: object) -> bytes:
    file = BytesIO()
    _Writer(file).dump(value)
    return file.getvalue()
