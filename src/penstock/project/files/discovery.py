"""Find and read the files of a project, by their content."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shlex
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from pathlib import PurePosixPath

from penstock.core.errors import UsageError
from penstock.core.findings import IGNORED_CODE, Finding, Location, Severity
from penstock.project.files.parsed import ENTITIES, YamlFile, path_of, place_key
from penstock.project.files.values import list_of, mapping_of

PROJECT_FILE = "penstock.yml"
DBT_FILE = "dbt_project.yml"
SELECTORS_FILE = "selectors.yml"
LIMIT_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_YAML = (".yml", ".yaml")
DOCUMENTS = (".json", *_YAML)
"""The suffixes of entity documents."""
_USUAL = ("models", "sessions")
GENERIC_TESTS = "tests/generic"
_FOLDERS = ("seeds", "macros", "packages", "tests")
_OF_PACKAGE = re.compile("packages/[^/]+/macros/")
_NO_TESTS = (f"{GENERIC_TESTS}/", "tests/fixtures/")
_READ = (".sql", ".py", ".csv", ".parquet", *DOCUMENTS)
_READABLE = "give yourself read access, or remove it"
_SHOWN = 300
_PROSE = (".md", ".txt", ".rst", ".gitkeep")
SEED_FORMATS = {".csv": "csv", ".parquet": "parquet"}
QUERY_KEYS = ("relation", "sql")
_TABLE = re.compile(r"[\w.-]+|(?:`[^`]+`\.?)+")


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files of a project by content; paths are relative to the root, and sorted."""

    sql: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    yaml: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()
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


def project_root(folder: FilePath, *, is_needed: bool) -> tuple[FilePath, bool]:
    """Return the absolute path of a folder, and whether it contains penstock.yml.

    Raises `no-project`, or `dbt-project`, where it does not and `is_needed`.
    """
    try:
        root = folder.resolve()
        found = (root / PROJECT_FILE).is_file()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, or a circle of links
        root, found = folder, False
    if found or not is_needed:
        return root, found
    refuse_dbt(root)
    sentence = f"there is no {PROJECT_FILE} in {str(root)[:_SHOWN]}"
    raise UsageError("no-project", sentence, hint="penstock init DIR")


def refuse_dbt(folder: FilePath) -> None:
    """Raise `dbt-project` for a folder that holds a dbt project and no penstock.yml."""
    try:
        found = (folder / DBT_FILE).is_file()
    except (OSError, ValueError):
        return
    if found:
        sentence = f"{folder} holds a dbt project ({DBT_FILE}) and no {PROJECT_FILE}"
        hint = f"penstock import dbt {shlex.quote(str(folder))}"
        raise UsageError("dbt-project", sentence, hint=hint)


def discover(
    root: FilePath, folders: Mapping[str, Location], packages: Mapping[str, Location]
) -> Discovery:
    """Find the files of models and packages, and of the fixed folders; hidden ones are left out."""
    findings: list[Finding] = []
    models = _files_of_key(root, "models", folders, findings)
    held = _files_of_key(root, "session_paths", packages, findings)
    below = {each: files_below(root, each, findings) for each in _FOLDERS}
    packaged = [path for path in below["packages"] if _OF_PACKAGE.match(path)]
    documents = files_below(root, ENTITIES, findings)
    for paths, endings, hint in (
        (models, (".sql", ".py", *_YAML), "models are .sql and .py files, their descriptions .yml"),
        (held, _YAML, "session packages are .yml files"),
        (below["seeds"], (*SEED_FORMATS, *_YAML), "seeds are .csv and .parquet files"),
        (below["macros"], (".sql", *_YAML), "put macros into .sql files"),
        (documents, DOCUMENTS, "entities are .json and .yml files"),
    ):
        strays = (path for path in paths if not path.endswith((*endings, *_PROSE)))
        what = "this is not a model" if paths is models else "this file is not read"
        findings += (
            Finding(Location(path), "stray-file", what, hint, Severity.WARNING) for path in strays
        )
    findings += _from_elsewhere(root, folders, below["tests"])
    yaml = [path for path in (*models, *below["seeds"]) if path.endswith(_YAML)]
    macros = (*below["macros"], *packaged)
    generic = [path for path in below["tests"] if path.startswith(f"{GENERIC_TESTS}/")]
    tests = [path for path in below["tests"] if not path.startswith(_NO_TESTS)]
    return Discovery(
        sql=tuple(path for path in models if path.endswith(".sql")),
        python=tuple(path for path in models if path.endswith(".py")),
        yaml=tuple(dict.fromkeys(yaml)),
        macros=tuple(path for path in (*macros, *generic) if path.endswith(".sql")),
        docs=tuple(p for p in (*models, *below["seeds"], *macros) if p.endswith(".md")),
        tests=tuple(path for path in tests if path.endswith(".sql")),
        seeds=tuple(path for path in below["seeds"] if PurePosixPath(path).suffix in SEED_FORMATS),
        entities=tuple(path for path in documents if path.endswith(DOCUMENTS)),
        sessions=tuple(path for path in held if path.endswith(_YAML)),
        findings=tuple(findings),
    )


_IMPORT = "penstock import dbt DIR takes over a whole dbt project"
_COPY = f"{_IMPORT}; or copy the macros of each package to packages/NAME/macros/"
_ELSEWHERE = {
    DBT_FILE: f"{_IMPORT}; or move its vars: and settings of folders into penstock.yml",
    "packages.yml": _COPY,
    "dependencies.yml": _COPY,
    "profiles.yml": "write its outputs as targets: in penstock.yml",
}
_FOLDERS_ELSEWHERE = {
    "snapshots": f"{_IMPORT}; or write models/NAME.sql with materialized='snapshot'",
    "analyses": "move queries that are to be built into models/; run others by penstock query",
}


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """A text of dbt that has no effect here."""

    pattern: re.Pattern[bytes]
    sentence: str
    hint: str

    def warnings_in(self, path: str, data: bytes) -> Iterator[Finding]:
        """Yield a warning at the first place of a file that contains the text."""
        for found in [*self.pattern.finditer(data)][:1]:
            line = data[: found.start()].count(b"\n") + 1
            yield ignored(path, self.sentence, self.hint, line)


_UNIT_TEST = _Elsewhere(
    re.compile(rb"^unit_test\s*:", re.MULTILINE),
    "unit_test: is not read, so none of these tests run",
    "write unit_tests:",
)


def _from_elsewhere(
    root: FilePath, folders: Collection[str], tests: Sequence[str]
) -> Iterator[Finding]:
    """Warn of files and texts of dbt that have no effect here."""
    for name, hint in _ELSEWHERE.items():
        if (root / name).is_file():
            yield ignored(name, f"{name} is not read", hint)
    for folder, hint in _FOLDERS_ELSEWHERE.items():
        found = [] if folder in folders else files_below(root, folder, [])
        if found:
            sentence = f"the folder {folder}/ is not read, and holds {len(found)} files"
            yield ignored(found[0], sentence.replace(" 1 files", " 1 file"), hint)
    sought = [(_UNIT_TEST, path) for path in tests if path.endswith(_YAML)]
    for what, path in sought:
        content = read_content(root, path, [])  # its reader says why it cannot be read
        yield from what.warnings_in(path, content.data) if content else ()


def ignored(path: str, sentence: str, hint: str, line: int = 1) -> Finding:
    """Return the warning for something without effect here."""
    return Finding(Location(path, line), IGNORED_CODE, sentence, hint, Severity.WARNING)


def _files_of_key(
    root: FilePath, key: str, at: Mapping[str, Location], findings: list[Finding]
) -> list[str]:
    """Return the files below the folders of a key in penstock.yml; the default may be missing."""
    below = []
    for folder, where in at.items():
        pure = PurePosixPath(folder)
        if pure.is_absolute() or ".." in pure.parts:
            sentence = f"{key}: {folder!r} is outside the project"
            hint = "name a folder of the project, relative to penstock.yml"
            findings.append(Finding(where, "path-outside-project", sentence, hint))
            continue
        below.append(folder)
        if folder not in _USUAL and not _is_folder(root / folder):
            hint = "make the folder, or correct its name"
            sentence = f"{key}: there is no folder {folder!r}"
            findings.append(Finding(where, "bad-value", sentence, hint))
    return sorted({path for folder in below for path in files_below(root, folder, findings)})


def _is_folder(path: FilePath) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # no name of a file: a NUL, or too long
        return False


def read_content(root: FilePath, path: str, findings: list[Finding]) -> Content | None:
    """Read the bytes of a text file; None with a finding if that is impossible."""
    where = Location(path)
    try:
        with open(posixpath.join(root, path), "rb") as file:  # noqa: PTH123  there are thousands
            size = os.fstat(file.fileno()).st_size
            data = file.read() if size <= LIMIT_BYTES else b""
    except OSError as error:
        findings.append(unreadable(path, error))
        return None
    if size > LIMIT_BYTES:
        sentence = f"the file has {size:,} bytes; at most {LIMIT_BYTES:,} are read"
        is_document = path.endswith(DOCUMENTS)
        hint = "split it" if is_document else "split it, or load it as a seed"
        findings.append(Finding(where, "file-too-large", sentence, hint))
        return None
    return Content(path, data, hashlib.sha256(data).hexdigest())


def decode(content: Content, findings: list[Finding]) -> str | None:
    r"""Return the text with line ends as `\n`; None with a finding if it is not UTF-8."""
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
    """Return the name of a model from its file: everything before the first dot."""
    return path.rpartition("/")[2].partition(".")[0]


def check_name(what: str, name: str, where: Location) -> Finding | None:
    """Return a finding if a name contains other characters than letters, digits, `_` and `-`."""
    if _NAME.fullmatch(name):
        return None
    sentence = f"{name!r} cannot name a {what}"
    return Finding(where, "bad-name", sentence, "use letters, digits, _ and -")


def files_below(root: FilePath, folder: str, findings: list[Finding]) -> list[str]:
    """Return the files below a folder, sorted, without hidden ones; folder links are followed.

    An unreadable folder or file is a finding.
    """
    if not _is_there(root / folder):
        return []
    above = frozenset((s.st_dev, s.st_ino) for s in map(os.stat, (root, *root.parents)))
    found, left = list[str](), [(folder, above)]
    while left:
        shown, above = left.pop()
        place = posixpath.join(root, shown)
        try:
            known = os.stat(place)  # noqa: PTH116  there are thousands
            if (known.st_dev, known.st_ino) in above:
                sentence = "this link leads back to a folder above it"
                findings.append(Finding(Location(shown), "unreadable-file", sentence, "remove it"))
                continue
            with os.scandir(place) as entries:
                inside = [
                    each for each in entries if each.name[0] != "." and each.name != "__pycache__"
                ]
        except OSError as error:
            findings.append(unreadable(shown, error))
            continue
        for entry in inside:
            path = f"{shown}/{entry.name}"
            finding = odd_file(entry, path)
            findings += [finding] if finding else []
            if _is_folder_entry(entry):
                left.append((path, above | {(known.st_dev, known.st_ino)}))
            elif not finding:
                found.append(path)
    return sorted(found)


def _is_there(path: FilePath) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a NUL
        return False


def _is_folder_entry(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def unreadable(path: str, error: OSError) -> Finding:
    """Return the finding for an unreadable file or folder."""
    sentence = f"cannot be read: {error.strerror}"
    return Finding(Location(path), "unreadable-file", sentence, _READABLE)


def odd_file(entry: os.DirEntry[str] | FilePath, path: str) -> Finding | None:
    """Return what is wrong with the path of a file or folder; None if nothing is."""
    if not path.isprintable():
        shown = ascii(path)[1:-1]
        sentence = "the name of the file holds characters that cannot be printed"
        return Finding(Location(shown), "bad-name", sentence, "rename it")
    try:
        if entry.is_file():
            return None
        known = entry.stat()
    except OSError as error:
        return unreadable(path, error)
    if not stat.S_ISDIR(known.st_mode):
        sentence = "this is a pipe, socket or device, and a file is expected"
        return Finding(Location(path), "unreadable-file", sentence, "rename it, or move it away")
    if path.endswith(_READ):
        sentence = "this is a folder, and a file is expected"
        return Finding(Location(path), "unreadable-file", sentence, "rename it, or move it away")
    return None


def queries_of(file: YamlFile) -> list[Content]:
    """Return the query of every entry with exactly one, by `entry_key`.

    Leading newlines give it the line numbers of the YAML file.
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
    """Return the key under which an entry's query is parsed and cached."""
    return place_key((file.path, "snapshots", index))
