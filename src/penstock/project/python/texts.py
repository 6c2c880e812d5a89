"""The texts and the namespaces of a project's modules, as this process imported them."""

from __future__ import annotations

import inspect
import linecache
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType

Place = tuple[str, str]
"""A module and a name that it binds."""
_STANDARD = Path(inspect.__file__).resolve().parent
BEGAN = time.time()
"""When this process started; a float that is a time since then came from a clock."""


def text_of(file: str) -> str:
    """Return the text of a file or notebook cell as Python reads it; "" if there is none."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


_RUNNING: dict[str, tuple[object, str]] = {}
"""The texts of modules that this process imported, each with the spec of that import."""


def _text_of_module(name: str, file: Path) -> str:
    """Return the text of a module; for one that this process runs, the text at its import."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    runs = str(getattr(module, "__file__", "")) == str(file)
    if runs and name in _RUNNING and _RUNNING[name][0] is spec:
        return _RUNNING[name][1]
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # it cannot be imported either, which the run then says
        return ""
    if runs:
        _RUNNING[name] = (spec, text)
    return text


class ModuleTexts(dict[str, str]):
    """The texts of a project's modules by dotted names; others are read when they are needed.

    Modules that a function imports while it runs are not imported yet when it is loaded.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        folders: Sequence[Path] = (),
        namespaces: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        """Start from known texts and namespaces; other modules are in `folders`."""
        super().__init__(texts)
        self._folders = folders
        self._namespaces = namespaces or {}
        self._absent: set[str] = set()
        self._own: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        """Return whether a module is part of the project."""
        if super().__contains__(name) or name in self._absent:
            return name not in self._absent
        top, *inner = str(name).split(".")
        for folder in self._folders if not inner or top in self else ():
            file = _file_in(folder, str(name))
            if file is not None or folder.joinpath(top, *inner).is_dir():
                self[str(name)] = _text_of_module(str(name), file) if file else ""
                return True
        self._absent.add(str(name))
        return False

    def file_of(self, name: str) -> Path | None:
        """Return the file of a module."""
        found = (_file_in(folder, name) for folder in self._folders)
        return next((each for each in found if each is not None), None)

    def namespace(self, name: str) -> Mapping[str, object] | None:
        """Return the names of a module with their values; None if it was not imported."""
        if name in self._namespaces:
            return self._namespaces[name]
        found = vars(sys.modules[name]) if name in sys.modules else {}
        return found if self.is_own(str(found.get("__file__") or "")) else None

    def is_own(self, file: str) -> bool:
        """Return whether a file belongs to the project, not to a library."""
        if file not in self._own:
            path = Path(file).resolve()
            library = path.is_relative_to(_STANDARD) or is_installed(path)
            self._own[file] = not library and any(map(path.is_relative_to, self._folders))
        return self._own[file]

    def is_package(self, name: str) -> bool:
        """Return whether a module has submodules."""
        folders = (folder.joinpath(*name.split(".")) for folder in self._folders)
        return any(map(Path.is_dir, folders)) or any(n.startswith(f"{name}.") for n in self)


def is_installed(path: Path) -> bool:
    """Return whether a path is in an environment: `site-packages`, or Debian's `dist-packages`."""
    return any(each.endswith("-packages") for each in path.parts)


def path_below(root: Path, file: Path) -> str:
    """Return a file relative to a folder, for display; "" for one outside the folder."""
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else ""


def _file_in(folder: Path, name: str) -> Path | None:
    inner = folder.joinpath(*name.split("."))
    files = (inner.with_name(f"{inner.name}.py"), inner / "__init__.py")
    return next((each for each in files if each.is_file()), None)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def source_of(function: FunctionType | type) -> str:
    """Return the source of a function or class; without source, its bytecode."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        if isinstance(function, type):
            inner = vars(function).values()
            return "\n".join(source_of(each) for each in inner if isinstance(each, FunctionType))
        codes, doc = _codes(function.__code__), function.__doc__
        return "\n".join(
            f"{each.co_code.hex()} {each.co_names} "
            f"{[c for c in each.co_consts if not isinstance(c, CodeType) and c != doc]}"
            for each in codes
        )
