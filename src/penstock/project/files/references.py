"""The files of a project: found, read, and what they include and name (spec/drift.md §1.5)."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from pathlib import PurePosixPath

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.nodes import (
    Broken,
    Member,
    Section,
    VersionReference,
    YamlNode,
)
from penstock.project.files.parsed import (
    ENTITIES,
    MERGE,
    REFERENCE,
    YamlFile,
    path_of,
    place_key,
)
from penstock.project.files.readers import Files, TextFiles
from penstock.project.files.values import Path, Plain, list_of, mapping_of

_MOST = 200_000


@dataclass(slots=True)
class Resolved:
    """A file with what it includes, the paths of which stand in `included` in order, each once."""

    path: str
    root: YamlNode
    included: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class _TooLargeError(Exception):
    pass


def resolve(path: str, files: Files) -> Resolved:
    """Read a YAML file with what it includes; what cannot be had is `Broken`, and a finding."""
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
        self.seen(1)
        where = file.place(*path) if path else Location(file.path, 1, 1)
        if isinstance(tree, Mapping):
            if REFERENCE in tree:
                return self.reference(str(tree[REFERENCE]), where, chain)
            return YamlNode(self.mapping(file, path, tree, chain), where)
        if isinstance(tree, list):
            return YamlNode(self.items(file, path, tree, chain), where)
        return YamlNode(tree if isinstance(tree, str | int | float | bool) else None, where)

    def seen(self, count: int) -> None:
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
            self.seen(len(node.items) if spliced else 0)
        return tuple(found)

    def mapping(
        self, file: YamlFile, path: Path, tree: Mapping[str, Plain], chain: tuple[str, ...]
    ) -> Mapping[str, Member]:
        own = {
            key: Member(file.key_place(*path, key), self.node(file, (*path, key), value, chain))
            for key, value in tree.items()
            if key != MERGE
        }
        for index, value in enumerate(list_of(tree.get(MERGE))):
            node = self.node(file, (*path, MERGE, index), value, chain)
            if not isinstance(node.value, Mapping) and not isinstance(node.value, Broken):
                self.report(node.where, "bad-value", "<< merges what is no mapping")
            own = {key: Member(m.key, m.node, True) for key, m in node.members.items()} | own  # noqa: FBT003  merged
            self.seen(len(node.members))
        return own

    def reference(self, inner: str, where: Location, chain: tuple[str, ...]) -> YamlNode:
        if not inner.startswith("file:"):
            _, version, name = inner.split(".")
            return YamlNode(VersionReference(version, name), where)
        written = inner.removeprefix("file:").strip().strip("'\"")
        path = path_from(where, written)
        if is_outside(path):
            sentence = f"{written!r} lies outside of the project"
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


def path_from(where: Location, written: str) -> str:
    """Give a path that a file names, seen from the project's root."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(where.path), written))


def is_outside(path: str) -> bool:
    """Whether what `path_from` gave lies outside of the project."""
    return posixpath.isabs(path) or path == ".." or path.startswith("../")


@dataclass(frozen=True, slots=True)
class SqlText:
    """SQL, the file and line where it begins, and that file if all of it is this SQL."""

    text: str
    path: str
    line: int = 1
    file: str = ""


def is_path(text: str) -> bool:
    """Whether SQL is the path of a file: one word that ends in .sql.

    >>> is_path("daily.v1.sql"), is_path("select 1 -- a.sql")
    (True, False)
    """
    return text.endswith(".sql") and len(text.split()) == 1


def file_text(
    written: str, where: Location, files: TextFiles, findings: list[Finding]
) -> SqlText | None:
    """Read a file that is named at a place; None beside a finding."""
    path = path_from(where, written)
    if is_outside(path):
        code, sentence = "include-outside-project", f"{written!r} lies outside of the project"
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
    """Read the SQL of a key, or the file that it names; None without one, or beside a finding."""
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


PROJECT_FILE = "penstock.yml"
LIMIT_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_YAML = (".yml", ".yaml")
DOCUMENTS = (".json", *_YAML)
"""How documents of entities end."""
_USUAL = ("models", "sessions")
GENERIC_TESTS = "tests/generic"
_NO_TESTS = (f"{GENERIC_TESTS}/", "tests/fixtures/")
_PROSE = (".md", ".txt", ".rst", ".gitkeep")
SEED_FORMATS = {".csv": "csv", ".parquet": "parquet"}
QUERY_KEYS = ("relation", "sql")
_TABLE = re.compile(r"[\w.-]+|(?:`[^`]+`\.?)+")


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files of a project by what they are; paths are relative to the root, sorted."""

    sql: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    yaml: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, or of a query in one (`entry_key`), and their sha256."""

    path: str
    data: bytes
    digest: str


def discover(
    root: FilePath, folders: Mapping[str, Location], packages: Mapping[str, Location]
) -> Discovery:
    """Walk the folders of models and packages, each named at a place, and the others; no hidden."""
    findings: list[Finding] = []
    sql, python, yaml = [], [], []
    for path in _inside(root, "models", folders, findings):
        name = PurePosixPath(path)
        if name.suffix in _YAML:
            yaml.append(path)
        elif name.suffix == ".sql":
            sql += [] if name.name.startswith("_") else [path]
        elif name.suffix == ".py":
            python.append(path)
        elif name.suffix not in _PROSE:
            sentence = "this is no model"
            hint = "models are .sql and .py files, their descriptions .yml files"
            stray = Finding(Location(path), "stray-file", sentence, hint, Severity.WARNING)
            findings.append(stray)
    held = _inside(root, "session_paths", packages, findings)
    seeds = sorted(_walk(root, "seeds"))
    yaml += [path for path in seeds if path.endswith(_YAML)]
    macros = [*sorted(_walk(root, "macros")), *sorted(_walk(root, GENERIC_TESTS))]
    tests = [p for p in sorted(_walk(root, "tests")) if not p.startswith(_NO_TESTS)]
    return Discovery(
        sql=tuple(sql),
        python=tuple(python),
        yaml=tuple(dict.fromkeys(yaml)),
        macros=tuple(path for path in macros if path.endswith(".sql")),
        tests=tuple(path for path in tests if path.endswith(".sql")),
        seeds=tuple(path for path in seeds if PurePosixPath(path).suffix in SEED_FORMATS),
        entities=tuple(path for path in sorted(_walk(root, ENTITIES)) if path.endswith(DOCUMENTS)),
        sessions=tuple(path for path in held if path.endswith(_YAML)),
        findings=tuple(findings),
    )


def _inside(root: FilePath, key: str, at: Mapping[str, Location], said: list[Finding]) -> list[str]:
    """Give the files in folders that a key of penstock.yml names; the usual one may be missing."""
    inside = []
    for folder, where in at.items():
        pure = PurePosixPath(folder)
        if pure.is_absolute() or ".." in pure.parts:
            sentence = f"{key}: {folder!r} lies outside of the project"
            said.append(Finding(where, "path-outside-project", sentence))
            continue
        inside.append(folder)
        if folder not in _USUAL and not (root / folder).is_dir():
            said.append(Finding(where, "bad-value", f"{key}: there is no folder {folder!r}"))
    return sorted({path for folder in inside for path in _walk(root, folder)})


def read_content(root: FilePath, path: str, findings: list[Finding]) -> Content | None:
    """Read the bytes of a text file; None beside a finding for one that penstock does not read."""
    where, file = Location(path), root / path
    try:
        size = file.stat().st_size
        data = file.read_bytes() if size <= LIMIT_BYTES else b""
    except OSError as error:
        findings.append(Finding(where, "unreadable-file", f"cannot be read: {error.strerror}"))
        return None
    if size > LIMIT_BYTES:
        sentence = f"the file has {size:,} bytes; at most {LIMIT_BYTES:,} are read"
        is_document = path.endswith(DOCUMENTS)
        hint = "split it" if is_document else "split it, or load it as a seed"
        findings.append(Finding(where, "file-too-large", sentence, hint))
        return None
    return Content(path, data, hashlib.sha256(data).hexdigest())


def decode(content: Content, findings: list[Finding]) -> str | None:
    r"""Give the text with line ends as `\n`; None beside a finding for what is no text."""
    at, sentence, hint = content.data.find(b"\0"), "the file holds a NUL byte", ""
    try:
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at, sentence = error.start, f"byte 0x{content.data[error.start]:02x} is not UTF-8"
        hint = "save the file as UTF-8"
    if at < 0:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    where = Location(path_of(content.path), content.data[:at].count(b"\n") + 1)
    findings.append(Finding(where, "not-utf8", sentence, hint))
    return None


def model_name(path: str) -> str:
    """Give the name of a model by its file: all before the first dot."""
    return path.rpartition("/")[2].partition(".")[0]


def check_name(what: str, name: str, where: Location) -> Finding | None:
    """Say when a name holds other characters than letters, digits, `_` and `-`."""
    if _NAME.fullmatch(name):
        return None
    sentence = f"{name!r} cannot name a {what}"
    return Finding(where, "bad-name", sentence, "use letters, digits, _ and -")


def _walk(root: FilePath, folder: str) -> Iterable[str]:
    for at, folders, names in os.walk(root / folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__pycache__")))
        shown = FilePath(at).relative_to(root).as_posix()
        yield from (f"{shown}/{name}" for name in sorted(names) if not name.startswith("."))


def queries_of(file: YamlFile) -> list[Content]:
    """Give the query of every entry that has exactly one, under the key of `entry_key`.

    Newlines in front of it make its lines those of the YAML file.
    """
    found = []
    for index, entry in enumerate(map(mapping_of, list_of(mapping_of(file.tree).get("snapshots")))):
        given = [key for key in QUERY_KEYS if entry.get(key) is not None]
        text = entry[given[0]] if len(given) == 1 else ""
        if isinstance(text, str) and text.strip():
            table = text.strip()
            is_sql = "{{" in table or _TABLE.fullmatch(table)
            relation = f"select * from {table if is_sql else f'{{{{ {table} }}}}'}"
            query = text if given == ["sql"] else relation
            line = file.place("snapshots", index, given[0]).line
            data = ("\n" * (line - 1) + query).encode("utf-8", "surrogatepass")
            key = entry_key(file, index)
            found.append(Content(key, data, hashlib.sha256(data).hexdigest()))
    return found


def entry_key(file: YamlFile, index: int) -> str:
    """Give the key under which the query of an entry is parsed and kept."""
    return place_key((file.path, "snapshots", index))
