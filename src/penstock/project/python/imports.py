"""Import the Python files of a project: the declared models, or why an import failed."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from penstock.core.errors import PenstockError, PythonModelError, install_hint
from penstock.core.findings import Finding, Location
from penstock.project.files.discovery import ignored, read_content
from penstock.project.python.declare import DISCOVERY, PythonModel, Registry
from penstock.project.python.texts import is_installed, path_below

LOADING: ContextVar[Path | None] = ContextVar("penstock_loading", default=None)
"""The project whose files are being imported; meanwhile no run may start."""
_TYPES = "write the type as an object: @udf(IntegerType()), not @udf('int'); no session reads it"
_NOT_MODELS = ("conftest.py",)
_MODEL_OF_DBT = re.compile(r"^(?:async\s+)?def\s+model\(\s*dbt\b", re.MULTILINE)
_IMPORTS = r"(?:^\s*from\b[^\n(]*\([^)]*|^\s*(?:from|import)\b.*|\bimport_module\(.*)"
_OF_DBT = (
    "this is a Python model of dbt, and is not run",
    "put @model above a function whose parameters are its inputs",
)
_NOTHING = (
    "the file declares no model, and no other file imports it",
    "put @model or @table above a function, or move the file out of models/",
)
_PRIVATE = (
    "files and folders that begin with _ are read only where another file imports them",
    "rename it, or import it",
)


def is_model_file(path: str) -> bool:
    """Return whether a Python file under a model folder is imported: not private files or tests.

    >>> [is_model_file(path) for path in ("models/a.py", "models/_b/a.py", "models/test_a.py")]
    [True, False, False]
    """
    parts = PurePosixPath(path).parts
    hidden = any(part.startswith(("_", ".")) for part in parts)
    return not hidden and not parts[-1].startswith("test_") and parts[-1] not in _NOT_MODELS


@dataclass(slots=True)
class Imported:
    """The declared models, and text and namespace of each imported module by name."""

    root: Path
    models: list[PythonModel[..., object]] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)
    namespaces: dict[str, Mapping[str, object]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def import_files(root: Path, paths: Sequence[str]) -> Imported:
    """Import model files, each once; afterwards the project's modules leave `sys.modules`.

    So two projects in one process never see each other's modules, and Spark sends functions by
    value to its workers, which do not have the modules. A file without a model that no other file
    imports is `not-taken-over`.
    """
    found, registry = Imported(root), Registry()
    contents = {path: read_content(root, path, found.findings) for path in paths}
    texts = {path: c.data.decode("utf-8", "replace") for path, c in contents.items() if c}
    theirs = [path for path, text in texts.items() if _MODEL_OF_DBT.search(text)]
    ours = [path for path in texts if is_model_file(path) and path not in theirs]
    dotted = [path for path in ours if any("." in part for part in _parts(path))]
    sentence = "Python imports no file with a dot in its path"
    found.findings += (Finding(Location(p), "bad-name", sentence, "rename it") for p in dotted)
    silent = set(texts).difference(theirs, dotted)
    discovery, loading = DISCOVERY.set(registry), LOADING.set(root)
    try:
        with project_modules(root) as modules:
            for path in (each for each in ours if each not in dotted):
                before = len(registry.models)
                try:
                    with _same_process():
                        importlib.import_module(_module_name(path))
                except (Exception, SystemExit) as error:  # noqa: BLE001  it is the user's code
                    found.findings.append(_failed(root, path, error))
                    silent.discard(path)
                if len(registry.models) > before:
                    silent.discard(path)
    finally:
        DISCOVERY.reset(discovery)
        LOADING.reset(loading)
    for name, (place, namespace) in modules.items():
        found.modules[name] = place.read_text(encoding="utf-8", errors="replace")
        found.namespaces[name] = namespace
    found.models = registry.models
    silent -= {path_below(root, Path(each.place[0])) for each in found.models}
    found.findings += (ignored(path, *_OF_DBT) for path in theirs)
    found.findings += (
        ignored(path, *(_NOTHING if is_model_file(path) else _PRIVATE))
        for path in sorted(silent)
        if not _is_used(path, texts[path], found)
    )
    return found


def _is_used(path: str, text: str, imported: Imported) -> bool:
    """Return whether a file without models has another use: an import, a package, or a test."""
    pure, module = PurePosixPath(path), _module_name(path)
    if pure.name in _NOT_MODELS or pure.name.startswith("test_"):
        return True
    names = {module, _package(module)}
    if not is_model_file(path) and not imported.modules.keys().isdisjoint(names):
        return True
    if not any(line.split("#")[0].strip() for line in text.splitlines()):
        return True
    named = re.compile(rf"{_IMPORTS}\b{re.escape(pure.stem)}\b", re.MULTILINE)
    others = (each for name, each in imported.modules.items() if name != module)
    return any(map(named.search, others))


def _package(module: str) -> str:
    return module.removesuffix(".__init__")


def refuse_foreign(app_root: Path) -> None:
    """Raise `foreign-app-root` for an app of another folder than the project being imported.

    A relative folder may be relative to the project's root, wherever the command was called.
    """
    root = LOADING.get()
    if root is not None and root not in (app_root.resolve(), (root / app_root).resolve()):
        sentence = f"an app of {str(app_root)!r} is declared in a file of the project {root.name!r}"
        hint = "penstock.conf(root='.'), or import the decorators from penstock"
        raise PythonModelError("foreign-app-root", sentence, hint=hint)


@contextmanager
def _same_process() -> Iterator[None]:
    """Restore the working directory and `sys.path` after an import."""
    folder, places = Path.cwd(), [*sys.path]
    try:
        yield
    finally:
        sys.path[:] = places
        if Path.cwd() != folder:
            os.chdir(folder)


@contextmanager
def project_modules(root: Path) -> Iterator[dict[str, tuple[Path, Mapping[str, object]]]]:
    """Make modules importable from the project's root, and remove them at the end.

    The yielded mapping then holds the file and the namespace of each.
    """
    found: dict[str, tuple[Path, Mapping[str, object]]] = {}
    known = {n.partition(".")[0] for n in sys.modules}
    folders = {each for each in known if (root / each).is_dir()}
    hidden = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in folders}
    hidden = {n: m for n, m in hidden.items() if (f := _file_of(m)) and not _is_below(root, f)}
    for name in hidden:  # an installed package may have the name of one of our folders
        del sys.modules[name]
    before = set(sys.modules)
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # loading writes no file
    try:
        yield found
    finally:
        sys.dont_write_bytecode = writes
        with suppress(ValueError):
            sys.path.remove(str(root))
        new = {n: (_file_of(m), _names(m)) for n, m in sys.modules.items() if n not in before}
        own = {name: (file, names) for name, (file, names) in new.items() if _is_below(root, file)}
        found |= {n: (file, names) for n, (file, names) in own.items() if file and file.is_file()}
        for name in own:
            del sys.modules[name]
        sys.modules.update(hidden)


def _names(module: object) -> Mapping[str, object]:
    return getattr(module, "__dict__", {})  # what stands among modules may be anything, or None


def _file_of(module: object) -> Path | None:
    """Return the file of a module, the folder of a package without one."""
    known = _names(module)  # a module may answer to any attribute by itself
    spaces: Any = known.get("__path__", ())
    first = known.get("__file__") or next(iter(spaces), None)
    return Path(str(first)) if first else None


def _is_below(root: Path, place: Path | None) -> bool:
    """Return whether a file is part of the project; libraries in a .venv below its root are not."""
    return bool(place and place.is_relative_to(root) and not is_installed(place.relative_to(root)))


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).with_suffix("").parts


def _module_name(path: str) -> str:
    return ".".join(_parts(path))


def _failed(root: Path, path: str, error: BaseException) -> Finding:
    """Return the exception of an import, at the innermost line of the project."""
    where = innermost(root, error) or Location(path)
    if isinstance(error, PenstockError):
        return Finding(where, error.code, error.sentence, error.hint)
    if isinstance(error, SyntaxError) and error.filename:
        where = Location(path_below(root, Path(error.filename)) or path, error.lineno or 1)
    if needs_session(error):
        sentence = "it needs a Spark session while it is imported"
        hint = _TYPES if _reads_type(error) else "build it inside the function"
        return Finding(where, "session-needed-at-import", sentence, hint)
    sentence = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0][:300]
    is_spark = isinstance(error, ModuleNotFoundError) and error.name in ("pyspark", "delta")
    hint = install_hint("spark") if is_spark else ""
    return Finding(where, "python-import-failed", sentence, hint)


def needs_session(error: BaseException) -> bool:
    """Return whether PySpark needed a session that is not running."""
    of_spark = any(each.__module__.startswith("pyspark") for each in type(error).__mro__)
    is_assertion = isinstance(error, AssertionError)
    text = str(error)
    asked = "session" in text.lower() or "SparkContext" in text
    last = traceback.extract_tb(error.__traceback__)[-1:]
    inside = any("pyspark" in frame.filename for frame in last)
    return (of_spark or is_assertion or inside) and (asked or is_assertion) and inside


def _reads_type(error: BaseException) -> bool:
    """Return whether PySpark needed the session to parse a type written as text."""
    calls = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
    return bool(calls & {"_parse_datatype_string", "fromDDL"})


def innermost(root: Path, error: BaseException) -> Location | None:
    """Return the innermost line of the project that an error came through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if _is_below(root, path):
            return Location(path_below(root, path), frame.lineno or 1)
    return None
