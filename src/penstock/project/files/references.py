"""The files of a project, with the files that they include and name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core.findings import Finding, Location
from penstock.project.files.nodes import (
    Broken,
    Section,
    TemplateText,
    VersionReference,
    YamlNode,
)
from penstock.project.files.parsed import (
    MERGE,
    REFERENCE,
    SqlFile,
    YamlFile,
    is_outside,
    is_path,
    path_from,
)
from penstock.project.files.values import Path, Plain, list_of, mapping_of

_MOST = 200_000


class TextFiles(Protocol):
    """The files of a project as bytes and texts; unreadable files become findings."""

    def has(self, path: str) -> bool:
        """Return whether the project has such a file."""

    def data(self, path: str) -> bytes:
        """Return the bytes of a file."""

    def text(self, path: str) -> str | None:
        """Return a file as text with unified line ends, None if it cannot be read."""

    def check_template(self, path: str, text: TemplateText, line: int) -> SqlFile:
        """Parse the SQL of a check that is a template on a line of a file."""

    def known_tests(self) -> Mapping[str, str]:
        """Return the macros of the project's parametrised tests, by test name."""


class Files(TextFiles, Protocol):
    """The files of a project, with YAML also as trees."""

    def yaml_file(self, path: str) -> YamlFile:
        """Return a YAML file."""

    def filled(self, path: str) -> Plain:
        """Return its tree with the environment's values filled in."""

    @property
    def templates_digest(self) -> str:
        """Return a digest of all that templates of checks depend on, except the environment."""

    def sql_text(self, path: str, text: str, line: int) -> SqlFile:
        """Parse SQL without a template that begins on a line of a file."""


@dataclass(slots=True)
class Resolved:
    """A file with its includes; `included` holds their paths in order, each once."""

    path: str
    root: YamlNode
    included: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class _TooLargeError(Exception):
    pass


def resolve(path: str, files: Files) -> Resolved:
    """Read a YAML file with its includes; missing parts are `Broken`, with a finding."""
    resolved = Resolved(path, YamlNode(None, Location(path, 1, 1)))
    try:
        resolved.root = _Resolver(files, resolved).whole(path, (path,))
    except _TooLargeError:
        sentence = f"with everything it includes the file has more than {_MOST:,} nodes"
        resolved.findings.append(Finding(Location(path, 1, 1), "bad-value", sentence))
    return resolved


@dataclass(slots=True)
class _Resolver:
    files: Files
    into: Resolved
    count: int = 0

    def whole(self, path: str, chain: tuple[str, ...]) -> YamlNode:
        file, where = self.files.yaml_file(path), Location(path, 1, 1)
        if file.tree is None:
            return YamlNode(Broken() if file.findings else None, where)
        return self.node(file, (), self.files.filled(path), chain)

    def node(self, file: YamlFile, path: Path, tree: Plain, chain: tuple[str, ...]) -> YamlNode:
        self.count_nodes(1)
        where = file.place(*path) if path else Location(file.path, 1, 1)
        if isinstance(tree, Mapping):
            if REFERENCE in tree:
                return self.reference(str(tree[REFERENCE]), where, chain)
            return YamlNode(self.mapping(file, path, tree, chain), where)
        if isinstance(tree, list):
            return YamlNode(self.items(file, path, tree, chain), where)
        return YamlNode(tree if isinstance(tree, str | int | float | bool) else None, where)

    def count_nodes(self, count: int) -> None:
        self.count += count
        if self.count > _MOST:
            raise _TooLargeError

    def items(
        self, file: YamlFile, path: Path, tree: list[Plain], chain: tuple[str, ...]
    ) -> tuple[YamlNode, ...]:
        found: list[YamlNode] = []
        for index, item in enumerate(tree):
            node = self.node(file, (*path, index), item, chain)
            spliced = REFERENCE in mapping_of(item) and isinstance(node.value, tuple)
            found += node.items if spliced else [node]
            self.count_nodes(len(node.items) if spliced else 0)
        return tuple(found)

    def mapping(
        self, file: YamlFile, path: Path, tree: Mapping[str, Plain], chain: tuple[str, ...]
    ) -> Mapping[str, YamlNode]:
        own = {
            key: self.node(file, (*path, key), value, chain).under(file.key_place(*path, key))
            for key, value in tree.items()
            if key != MERGE
        }
        for index, value in enumerate(list_of(tree.get(MERGE))):
            node = self.node(file, (*path, MERGE, index), value, chain)
            if not isinstance(node.value, Mapping) and not isinstance(node.value, Broken):
                self.report(node.where, "bad-value", "<< merges something that is not a mapping")
            merged = {key: m.under(m.key, is_merged=True) for key, m in node.members.items()}
            own = merged | own
            self.count_nodes(len(node.members))
        return own

    def reference(self, inner: str, where: Location, chain: tuple[str, ...]) -> YamlNode:
        if not inner.startswith("file:"):
            _, version, name = inner.split(".")
            return YamlNode(VersionReference(version, name), where)
        written = inner.removeprefix("file:").strip().strip("'\"")
        path = path_from(where, written)
        if is_outside(path):
            sentence = f"{written!r} is outside the project"
            hint = "include files of the project only"
            return self.report(where, "include-outside-project", sentence, hint)
        if path in chain:
            loop = " → ".join((*chain[chain.index(path) :], path))
            hint = "a file cannot include itself; take one reference out"
            return self.report(where, "include-cycle", loop, hint)
        if not self.files.has(path):
            sentence = f"there is no file {path}"
            hint = "paths are relative to the file that names them"
            return self.report(where, "include-not-found", sentence, hint)
        if path not in self.into.included:
            self.into.included.append(path)
        if path.endswith((".yml", ".yaml")):
            return self.whole(path, (*chain, path))
        try:
            text = self.files.data(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            sentence = f"{path} is not UTF-8: byte {error.start}"
            return self.report(where, "not-utf8", sentence, "save the file as UTF-8")
        return YamlNode(text, Location(path, 1, 1), path)

    def report(self, where: Location, code: str, sentence: str, hint: str = "") -> YamlNode:
        self.into.findings.append(Finding(where, code, sentence, hint))
        return YamlNode(Broken(), where)


@dataclass(frozen=True, slots=True)
class SqlText:
    """SQL, the file and line where it begins, and that file if it contains only this SQL."""

    text: str
    path: str
    line: int = 1
    file: str = ""


def file_text(
    written: str, where: Location, files: TextFiles, findings: list[Finding]
) -> SqlText | None:
    """Read a file that is named at a place; None with a finding."""
    path = path_from(where, written)
    if is_outside(path):
        code, sentence = "include-outside-project", f"{written!r} is outside the project"
        hint = "name files of the project only"
    elif not files.has(path):
        code, sentence = "sql-file-not-found", f"there is no file {path}"
        hint = f"paths are relative to {where.path}"
    else:
        text = files.text(path)
        if text is None:
            return None
        if text.strip():
            return SqlText(text, path, 1, path)
        where, code, sentence = Location(path), "empty-file", "the file is empty"
        hint = "write a query, or delete the file"
    findings.append(Finding(where, code, sentence, hint))
    return None


def sql_under(section: Section, key: str, files: TextFiles, empty: str) -> SqlText | None:
    """Read the SQL of a key, or of the file that it names; None if absent, or with a finding."""
    node = section.find(key)
    if node is None:
        return None
    if not isinstance(node.value, str):
        section.bad(key, "SQL, or a path that ends in .sql")
    elif not node.value.strip():
        section.report(key, "empty-file", empty, "write a query")
    elif not node.file and is_path(node.value):
        return file_text(node.value, node.where, files, section.findings)
    else:
        return SqlText(node.value, node.where.path, node.where.line, node.file)
    return None
