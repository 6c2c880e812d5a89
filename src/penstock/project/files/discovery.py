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
_YAML = (".yml", ".yaml")
_PROSE = (".md", ".txt", ".rst", ".gitkeep")
SEED_FORMATS = {".csv": "csv", ".parquet": "parquet"}
QUERY_KEYS = ("relation", "sql")
_TABLE = re.compile(r"[\w.-]+|(?:`[^`]+`\.?)+")


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files of a project by what they are; paths are relative to the root, sorted."""

    sql: tuple[str, ...]
    yaml: tuple[str, ...]
    macros: tuple[str, ...]
    seeds: tuple[str, ...]
    findings: tuple[Finding, ...]


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
    sql, yaml = [], []
    for path in sorted({path for folder in inside for path in _walk(root, folder)}):
        name = PurePosixPath(path)
        if name.suffix in _YAML:
            yaml.append(path)
        elif name.suffix == ".sql":
            sql += [] if name.name.startswith("_") else [path]
        elif name.suffix not in _PROSE:
            is_python = name.suffix == ".py"
            sentence = (
                "Python models come with a later release" if is_python else "this is no model"
            )
            hint = "" if is_python else "models are .sql files, their descriptions .yml files"
            stray = Finding(Location(path), "stray-file", sentence, hint, Severity.WARNING)
            findings.append(stray)
    seeds = sorted(_walk(root, "seeds"))
    yaml += [path for path in seeds if path.endswith(_YAML)]
    return Discovery(
        sql=tuple(sql),
        yaml=tuple(dict.fromkeys(yaml)),
        macros=tuple(path for path in sorted(_walk(root, "macros")) if path.endswith(".sql")),
        seeds=tuple(path for path in seeds if PurePosixPath(path).suffix in SEED_FORMATS),
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
    at, sentence, hint = content.data.find(b"\0"), "the file holds a NUL byte", ""
    try:
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at, sentence = error.start, f"byte 0x{content.data[error.start]:02x} is not UTF-8"
        hint = "save the file as UTF-8"
    if at < 0:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    line = content.data[:at].count(b"\n") + 1
    return Finding(Location(path_of(content.path), line), "not-utf8", sentence, hint)


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
