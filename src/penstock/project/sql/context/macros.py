"""Macros by name and namespace: those of the project, of packages, and those that penstock ships.

A macro of `macros/` is called by its name everywhere, one of `packages/NAME/macros/` as
`NAME.macro`, and by its name inside of its package. `utils/dbt.sql` holds dbt's own macros.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.project.files.macro_files import (
    OWN,
    WITH_SHIPPED,
    macro_names,
    namespace_of,
    shipped_macros,
)
from penstock.project.sql.context.values import UnknownPartError
from penstock.project.sql.template_budget import MacroReturn, OpenMacro

if TYPE_CHECKING:
    from jinja2 import Template

_DBT = "dbt"
_PREFIXES = ("spark__", "databricks__", "default__")
Load = Callable[[str, dict[str, Any]], "Template"]


class MacroCall(OpenMacro):
    """Calls one macro of a file."""

    __slots__ = ("_macros", "_name", "_path")

    def __init__(self, macros: Macros, path: str, name: str) -> None:
        self._macros = macros
        self._path = path
        self._name = name

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        """Return what the macro prints, or returns."""
        return self._macros.run(self._path, self._name, args, kwargs)

    def __str__(self) -> str:
        """Print the name."""
        return self._name


class Namespace:
    """The macros of a package as attributes."""

    __slots__ = ("_macros", "_name")

    def __init__(self, macros: Macros, name: str) -> None:
        self._macros = macros
        self._name = name

    def __getattr__(self, name: str) -> MacroCall:
        """Return a macro."""
        found = self._macros.find(self._name, name)
        if found is None:
            raise AttributeError(name)
        return found

    def __str__(self) -> str:
        """Print the name."""
        return self._name


class Macros:
    """The macros of one load, compiled when they are first called."""

    def __init__(self, files: Mapping[str, str], project: str, load: Load) -> None:
        self._load = load
        self._project = project
        self._vars: dict[str, Mapping[str, Any]] = {}
        self.files = {**shipped_macros(), **files}
        self._paths: dict[str, dict[str, str]] = {OWN: {}, _DBT: {}}
        for path, text in self.files.items():
            held = self._paths.setdefault(namespace_of(path), {})
            held |= dict.fromkeys(macro_names(text), path)

    def forget(self) -> None:
        """Let macro files set their variables again: the next file may depend on others."""
        self._vars.clear()

    @property
    def namespaces(self) -> dict[str, Namespace]:
        """The namespaces by name."""
        names = {*self._paths, *WITH_SHIPPED, self._project} - {OWN}
        return {name: Namespace(self, name) for name in sorted(names)}

    def find(self, namespace: str, name: str) -> MacroCall | None:
        """Return a macro of a namespace."""
        spaces = [OWN if namespace == self._project else namespace]
        if namespace in WITH_SHIPPED:
            shipped = [namespace_of(path) for path in shipped_macros()]
            spaces += [each for each in shipped if each not in spaces]
        path = next(
            (held[name] for each in spaces if name in (held := self._macros_in(each))), None
        )
        return MacroCall(self, path, name) if path else None

    def dispatch(self, name: str, namespace: str = "") -> MacroCall:
        """Return Spark's form of a macro: the project's, then the package's, then a shipped one."""
        spaces = [self._project, *([namespace] if namespace else sorted(self._paths)), _DBT]
        for space in spaces:
            for prefix in _PREFIXES:
                if (found := self.find(space, f"{prefix}{name}")) is not None:
                    return found
        sentence = f"no macro is called spark__{name} or default__{name}"
        where = f"packages/{namespace}/macros/ or macros/" if namespace else "macros/"
        raise UnknownPartError(sentence, f"write one in {where}", "unknown-name")

    def run(
        self, path: str, name: str, args: tuple[object, ...], kwargs: Mapping[str, Any]
    ) -> object:
        """Call a macro of a file."""
        if path not in self._vars:
            template = self._load(path, {**self.called(namespace_of(path))})
            context = template.new_context()
            deque(template.root_render_func(context), maxlen=0)
            self._vars[path] = context.vars
        try:
            return self._vars[path][name](*args, **kwargs)
        except MacroReturn as returned:
            return returned.value

    def called(self, namespace: str = "") -> dict[str, MacroCall]:
        """Return the macros of one namespace by name; those of the project by default."""
        return {
            name: MacroCall(self, path, name) for name, path in self._macros_in(namespace).items()
        }

    def _macros_in(self, namespace: str) -> Mapping[str, str]:
        return self._paths.get(namespace, {})
