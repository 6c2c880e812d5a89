"""The meaning of a function: the code that it uses, and the values that this code names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.core.findings import Finding, Location, Severity
from penstock.core.masking import is_secret_key
from penstock.project.python.declare import PythonModel
from penstock.project.python.imports import Imported
from penstock.project.python.reach import Reach
from penstock.project.python.texts import ModuleTexts, Place, path_below, source_of
from penstock.project.python.values import Values

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Meaning:
    """Code and values of a function as text, and the places where code cannot be followed."""

    code: str
    unfollowed: tuple[tuple[Location, str], ...] = ()

    def findings(self, name: str) -> list[Finding]:
        """Return warnings about code whose changes would not be seen."""
        hint = "add version='1' to the decorator, and raise it whenever that code changes"
        return [
            Finding(
                where,
                "code-not-followed",
                f"{name!r} reaches {text}: changes of the code that this finds are not seen",
                hint,
                Severity.WARNING,
                (name,),
            )
            for where, text in self.unfollowed
        ]


def meaning_of(declared: PythonModel[..., Any], imported: Imported) -> Meaning:
    """Return the meaning of a function; for one in a file, as it was at import.

    A run may change the values that a function uses.
    """
    known = declared.meaning
    if isinstance(known, Meaning) and declared.identity[0]:
        return known
    declared.meaning = found = _Following(declared, imported).meaning()
    return found


class _Following:
    """Follows the code and the values of a function alternately: each may lead to the other."""

    def __init__(self, declared: PythonModel[..., Any], imported: Imported) -> None:
        plain = inspect.unwrap(declared.function)
        self.declared, self.root = declared, imported.root
        self.home, folders = _home(plain, imported.root)
        known = {**imported.modules, self.home: declared.text}
        namespaces = {**imported.namespaces, self.home: getattr(plain, "__globals__", {})}
        self.texts = ModuleTexts(known, folders, namespaces)
        self.reach = Reach(self.texts)
        self.values = Values(self.texts, self.home, str(imported.root))
        self.plain = plain
        self.lines: list[str] = []
        self.waiting: list[Place] = []

    def meaning(self) -> Meaning:
        """Follow everything that the function uses."""
        name = str(getattr(self.plain, "__qualname__", "")).partition(".")[0]
        self._value((self.home, name), "itself", self.declared.function)
        more = ""
        if self.reach.holds((self.home, name)):
            self.reach.add([(self.home, name)])
        elif name != "<lambda>" or not self.declared.identity[0]:
            more = self.declared.text or source_of(self.plain)
            self.reach.add_all_of(self.home)
        self._follow()
        lines = sorted(self.lines)
        return Meaning("\n".join((self.reach.text(), more, *lines)), tuple(self._unfollowed()))

    def _value(self, place: Place, label: str, value: object) -> None:
        """Record a value, and the code in it except the code of the place itself."""
        self.lines.append(f"value of {label}: {self.values.digest(value)}")
        self.values.places[:] = [each for each in self.values.places if each != place]
        self.waiting += self.values.places
        self.values.places.clear()

    def _follow(self) -> None:
        while True:
            self.reach.add_values(self.waiting)
            self.waiting.clear()
            found = self.reach.follow()
            if not found:
                return
            for place in found:
                module, name = place
                namespace = self.texts.namespace(module) or {}
                if name not in namespace or place in self.reach.first[:1] or is_secret_key(name):
                    continue
                if not self.reach.moves(place):
                    label = name if module == self.home else f"{module}.{name}"
                    self._value(place, label, namespace[name])
            self.waiting += self._subclasses()

    def _subclasses(self) -> list[Place]:
        """Return the subclasses of classes whose `__subclasses__` the code reads."""
        found = []
        for module, name in sorted(self.reach.subclassed):
            kind = (self.texts.namespace(module) or {}).get(name)
            below: list[type] = kind.__subclasses__() if isinstance(kind, type) else []
            for each in below:
                namespace = self.texts.namespace(each.__module__) or {}
                if namespace.get(each.__name__) is each:
                    found.append((each.__module__, each.__name__))
        return found

    def _unfollowed(self) -> Iterator[tuple[Location, str]]:
        first: dict[Location, str] = {}
        for module, line, text in self.reach.unfollowed():
            first.setdefault(self._where(module, line), text[:_SHOWN])
        yield from first.items()

    def _where(self, module: str, line: int) -> Location:
        own = Path(self.declared.place[0])
        file = own if module == self.home else (self.texts.file_of(module) or own)
        file = file.resolve()
        return Location(path_below(self.root, file) or str(file), line)


def _home(function: Any, root: Path) -> tuple[str, list[Path]]:  # noqa: ANN401  a function
    """Return the module of a function, and the folders that contain its project's modules."""
    spec = getattr(function, "__globals__", {}).get("__spec__")
    name = str(getattr(function, "__module__", "") or "")
    name = name if name != "__main__" else str(getattr(spec, "name", ""))
    file = Path(getattr(getattr(function, "__code__", None), "co_filename", ""))
    above = [*file.resolve().parents]
    depth = name.count(".") + (1 if file.name == "__init__.py" else 0)
    base = above[depth] if file.is_file() and depth < len(above) else root
    if any(each.endswith("-packages") for each in base.parts):
        return name, [root]  # a library beside all others
    return name, [*dict.fromkeys([base, root])]
