"""Finding and reading files, and the queries that stand in YAML; every oddity is a finding."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.parsed import YamlFile, path_of, place_key
from penstock.project.files.values import Plain, list_of, mapping_of

PROJECT_FILE = "penstock.yml"
LIMIT_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9_-]+")
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
    seeds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, or of a query in one (`entry_key`), and their sha256."""

    path: str
    data: bytes
    digest: str


def discover(root: Path, folders: Mapping[str, Location]) -> Discovery:
    """Walk the model folders, macros/ and seeds/; hidden files and folders do not count.

    A folder outside of the project is not read; `folders` tells where each is named.
    """
    findings: list[Finding] = []
    inside = [folder for folder in folders if _is_inside(root, folder, folders[folder], findings)]
    found = sorted({path for folder in inside for path in _walk(root, folder)})
    kinds: dict[str, list[str]] = {"sql": [], "python": [], "yaml": []}
    for path in found:
        name = PurePosixPath(path)
        if name.suffix == ".sql":
            if not name.name.startswith("_"):
                kinds["sql"].append(path)
        elif name.suffix == ".py":
            kinds["python"].append(path)
        elif name.suffix in (".yml", ".yaml"):
            kinds["yaml"].append(path)
        elif name.suffix not in _PROSE:
            findings.append(_stray(path))
    seeds = sorted(_walk(root, "seeds"))
    kinds["yaml"] += [p for p in seeds if p.endswith((".yml", ".yaml"))]
    return Discovery(
        sql=tuple(kinds["sql"]),
        python=tuple(kinds["python"]),
        yaml=tuple(dict.fromkeys(kinds["yaml"])),
        macros=tuple(p for p in sorted(_walk(root, "macros")) if p.endswith(".sql")),
        seeds=tuple(p for p in seeds if PurePosixPath(p).suffix in SEED_FORMATS),
        findings=tuple(findings),
    )


def read_content(root: Path, path: str) -> Content | Finding:
    """Read the bytes of a text file, or say why it is none that penstock reads."""
    try:
        size = (root / path).stat().st_size
        data = (root / path).read_bytes() if size <= LIMIT_BYTES else b""
    except OSError as error:
        return Finding(Location(path), "unreadable-file", f"cannot be read: {error.strerror}")
    if size > LIMIT_BYTES:
        sentence = f"the file has {size:,} bytes; at most {LIMIT_BYTES:,} are read"
        return Finding(Location(path), "file-too-large", sentence, "split it, or load it as a seed")
    return Content(path, data, hashlib.sha256(data).hexdigest())


def decode(content: Content) -> str | Finding:
    r"""Give the text with line ends as `\n`, or say why it is no text."""
    try:
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.data[: error.start].count(b"\n") + 1
        sentence = f"byte 0x{content.data[error.start]:02x} is not UTF-8"
        where = Location(path_of(content.path), line)
        return Finding(where, "not-utf8", sentence, "save the file as UTF-8")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        where = Location(path_of(content.path), line)
        return Finding(where, "not-utf8", "the file holds a NUL byte")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def model_name(path: str) -> str:
    """Give the name of a model by its file: all before the first dot.

    >>> model_name("models/staging/users_clean.ff.sql")
    'users_clean'
    """
    return PurePosixPath(path).name.partition(".")[0]


def check_name(what: str, name: str, where: Location) -> Finding | None:
    """Say when a name holds other characters than letters, digits, `_` and `-`."""
    if _NAME.fullmatch(name):
        return None
    sentence = f"{name!r} cannot name a {what}"
    return Finding(where, "bad-name", sentence, "use letters, digits, _ and -")


def _walk(root: Path, folder: str) -> Iterable[str]:
    for at, folders, names in os.walk(root / folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__pycache__")))
        shown = Path(at).relative_to(root).as_posix()
        yield from (f"{shown}/{name}" for name in sorted(names) if not name.startswith("."))


def _is_inside(root: Path, folder: str, where: Location, findings: list[Finding]) -> bool:
    pure = PurePosixPath(folder)
    if pure.is_absolute() or ".." in pure.parts:
        sentence = f"models: {folder!r} lies outside of the project"
        findings.append(Finding(where, "path-outside-project", sentence))
        return False
    if folder != "models" and not (root / folder).is_dir():
        findings.append(Finding(where, "bad-value", f"models: there is no folder {folder!r}"))
    return True


def _stray(path: str) -> Finding:
    sentence = "this is no model"
    hint = "models are .sql and .py files, their descriptions .yml files"
    return Finding(Location(path), "stray-file", sentence, hint, Severity.WARNING)


def queries_of(file: YamlFile) -> list[Content]:
    """Give the query of every entry that has exactly one, under the key of `entry_key`.

    Newlines in front put each on its lines of the YAML file, so that whoever names a line of the
    query names a line of that file.
    """
    entries = list_of(mapping_of(file.tree).get("snapshots"))
    found = []
    for index, entry in enumerate(mapping_of(item) for item in entries):
        given = [key for key in QUERY_KEYS if entry.get(key) is not None]
        text = _query(given[0], entry[given[0]]) if len(given) == 1 else ""
        if text:
            line = file.place("snapshots", index, given[0]).line
            data = ("\n" * (line - 1) + text).encode("utf-8", "surrogatepass")
            key = entry_key(file, index)
            found.append(Content(key, data, hashlib.sha256(data).hexdigest()))
    return found


def entry_key(file: YamlFile, index: int) -> str:
    """Give the key under which the query of an entry is parsed and kept."""
    return place_key((file.path, "snapshots", index))


def _query(key: str, value: Plain) -> str:
    if not isinstance(value, str) or not value.strip():
        return ""
    if key == "sql":
        return value
    text = value.strip()
    is_sql = "{{" in text or _TABLE.fullmatch(text)
    return f"select * from {text}" if is_sql else f"select * from {{{{ {text} }}}}"
