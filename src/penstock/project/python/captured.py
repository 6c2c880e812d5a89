"""The texts of the code of a project, and what a function carries along that no text says.

A function that another function made means its text and what it captured; one that lies in no file
means what its names stand for, because nobody else holds their text.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DEEPEST = 8


def text_of(file: str) -> str:
    """Give the text of a file or of a cell of a notebook, as Python reads it; "" of none."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


_RUNNING: dict[str, tuple[object, str]] = {}
"""The texts of modules that this process imported, with what tells one import from the next."""


def _text_of_module(name: str, file: Path) -> str:
    """Give the text of a module; of one that this process runs what it was, not what it is."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    runs = str(getattr(module, "__file__", "")) == str(file)
    if runs and name in _RUNNING and _RUNNING[name][0] is spec:
        return _RUNNING[name][1]
    text = file.read_text(encoding="utf-8", errors="replace")
    if runs:
        _RUNNING[name] = (spec, text)
    return text


class ModuleTexts(dict[str, str]):
    """The texts of a project's modules by dotted names; one not imported is read when asked for.

    What a function imports while it runs nobody has imported when it is loaded.
    """

    def __init__(self, known: Mapping[str, str], folders: Sequence[Path]) -> None:
        """Take the texts that are known, and the folders below which all others lie."""
        super().__init__(known)
        self._folders = folders
        self._absent: set[str] = set()

    def __contains__(self, name: object) -> bool:
        """Whether a module is one of the project."""
        if super().__contains__(name) or name in self._absent:
            return name not in self._absent
        parts = str(name).split(".")
        top, *_ = parts
        for folder in self._folders if len(parts) == 1 or top in self else ():
            inner = folder.joinpath(*parts)
            files = (inner.with_name(f"{inner.name}.py"), inner / "__init__.py")
            file = next((each for each in files if each.is_file()), None)
            if file is not None or inner.is_dir():
                self[str(name)] = _text_of_module(str(name), file) if file else ""
                return True
        self._absent.add(str(name))
        return False

    def is_package(self, name: str) -> bool:
        """Whether modules lie below a module."""
        return any(folder.joinpath(*name.split(".")).is_dir() for folder in self._folders)


def captured(function: Callable[..., object]) -> tuple[list[str], list[tuple[str, str]]]:
    """Give what a function captured, as lines, and the places of the code among it.

    >>> def make(n):
    ...     return lambda frame: frame.limit(n)
    >>> captured(make(3))[0]
    ['n = 3']
    """
    found = _Captured()
    made = "<locals>" in getattr(function, "__qualname__", "")
    return list(found.lines_of(function, made=made)), found.places


@dataclass(slots=True)
class _Captured:
    places: list[tuple[str, str]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def lines_of(self, function: object, *, made: bool) -> Iterator[str]:
        """Give a line for each value that a function holds, or names where it has no file."""
        plain = inspect.unwrap(function) if callable(function) else function
        for each in [function] if plain is function else [function, plain]:
            if isinstance(each, FunctionType) and id(each) not in self.seen:
                self.seen.add(id(each))
                for name, value in sorted(_values(each, made=made).items()):
                    yield f"{name} = {self.shown(value)}"

    def shown(self, value: object, depth: int = 0) -> str:
        """Give a value as text that is the same in every process."""
        value = getattr(value, "function", value) if _is_model(value) else value
        if isinstance(value, ModuleType):
            return value.__name__
        if isinstance(value, FunctionType | type):
            return self._code(value)
        if depth > _DEEPEST:
            return type(value).__qualname__
        if isinstance(value, Mapping):
            items = (
                f"{self.shown(k, depth + 1)}: {self.shown(v, depth + 1)}" for k, v in value.items()
            )
            return f"{{{', '.join(items)}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(self.shown(each, depth + 1) for each in value)}]"
        if isinstance(value, set | frozenset):
            return f"{{{', '.join(sorted(self.shown(each, depth + 1) for each in value))}}}"
        if type(value).__repr__ is object.__repr__:
            own = hasattr(value, "__dict__") and "-packages" not in _module_file(type(value))
            return f"{type(value).__qualname__} {self.shown(vars(value), depth + 1) if own else ''}"
        return _ADDRESS.sub("", repr(value))

    def _code(self, value: FunctionType | type) -> str:
        """Name code whose file the project holds; give the text of all other code."""
        name = value.__qualname__
        self.places.append((value.__module__, name.partition(".")[0]))
        if isinstance(value, type):
            return name if _module_file(value) else source_of(value) or name
        within = self.lines_of(value, made="<locals>" in name)
        source = source_of(value) if "<" in name or not _has_file(value) else name
        return "\n".join((source, *within))


def _is_model(value: object) -> bool:
    return type(value).__name__ == "PythonModel"


def _module_file(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def _has_file(function: FunctionType) -> bool:
    return Path(function.__code__.co_filename).is_file()


def _values(function: FunctionType, *, made: bool) -> dict[str, object]:
    """Give what a function holds by name: captured, default, global where it has no file."""
    code, found = function.__code__, dict[str, object]()
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it is not bound yet
            continue
    if made:
        found |= {f"default {n}": value for n, value in enumerate(function.__defaults__ or ())}
        found |= {f"default {n}": value for n, value in (function.__kwdefaults__ or {}).items()}
    if not _has_file(function):
        names = {name for each in _codes(code) for name in each.co_names}
        found |= {n: function.__globals__[n] for n in names if n in function.__globals__}
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Give a piece of code and all that stand in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def source_of(function: FunctionType | type) -> str:
    """Give the text of a function; of one without any what Python runs."""
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
