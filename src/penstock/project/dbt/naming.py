"""The names that dbt gives to tables: its own macros, or those of the project, are evaluated.

Templates run in the sandbox of models. They read no environment: only defaults of `env_var`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.loaders import FunctionLoader

from penstock.project.dbt.editing.calls import NotLiteralError, literal_of
from penstock.project.dbt.settings import DbtTarget
from penstock.project.files.values import Plain, mapping_of
from penstock.project.sql.template import TestBlocks
from penstock.project.sql.template_budget import BudgetedEnvironment, BudgetError

SCHEMA, ALIAS = "generate_schema_name", "generate_alias_name"
_WHOLE = re.compile(r"\s*\{\{((?:(?!\{\{|\}\}).)*)\}\}\s*", re.DOTALL)


class UnknownValueError(Exception):
    """A template whose value is only known while dbt runs."""


class _ReturnedError(Exception):
    """Carries what `return` of a macro gives."""

    def __init__(self, value: object) -> None:
        self.value = value


def _returned(value: object = None) -> None:
    raise _ReturnedError(value)


class Naming:
    """Evaluates expressions of a dbt project, and its macros that name tables."""

    def __init__(
        self, macros: Mapping[str, str], variables: Mapping[str, Plain], target: DbtTarget
    ) -> None:
        self._macros = macros
        self._vars = variables
        self.package = ""
        """The package whose vars count."""
        self._own: dict[str, str] = {}
        self._env = BudgetedEnvironment(FunctionLoader(macros.get))
        self._env.add_extension(TestBlocks)
        self._env.add_extension("jinja2.ext.do")
        self.target = target
        self._env.globals |= {
            "var": self._var,
            "env_var": _env_var,
            "target": {
                "name": target.name,
                "schema": target.schema,
                # models of other adapters will run on Spark too
                "type": target.adapter if target.adapter == "databricks" else "spark",
                "database": target.catalog,
                "catalog": target.catalog,
            },
            "return": _returned,
            "none": None,
            "null": None,
            "execute": False,
            "log": lambda *_, **__: "",
            "default__generate_schema_name": self._default_schema,
            "generate_schema_name_for_env": self._schema_for_env,
            "default__generate_alias_name": _default_alias,
        }
        for path, text in macros.items():
            self._declare(path, text)

    @property
    def own_macros(self) -> Mapping[str, str]:
        """The project's own macros that name tables: name → file."""
        return {name: path for name, path in self._own.items() if name in (SCHEMA, ALIAS)}

    def value(self, text: str) -> Plain:
        """Return the value of an expression; raise `UnknownValueError` if only dbt knows it."""
        try:
            return literal_of(text)
        except NotLiteralError:
            pass
        found = self._guarded(self._env.compile_expression(text, undefined_to_none=False))
        if isinstance(found, str | int | float | bool | list | dict | None):
            return found
        raise UnknownValueError(text)

    def text(self, template: str) -> str:
        """Return a rendered text of YAML; raise `UnknownValueError` if only dbt knows it."""
        return str(self._guarded(partial(self._render, template)))

    def rendered(self, value: Plain) -> Plain:
        """Return a value of YAML with its templates rendered, as far as they can be."""
        if isinstance(value, Mapping):
            return {key: self.rendered(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.rendered(item) for item in value]
        if not isinstance(value, str) or "{{" not in value:
            return value
        whole = _WHOLE.fullmatch(value)
        try:
            return self.value(whole[1]) if whole else self.text(value)
        except UnknownValueError:
            return value

    def schema(self, custom: str, node: Mapping[str, Plain]) -> str:
        """Return the schema of a node; `custom` is "" where nothing sets one."""
        if SCHEMA not in self._own:
            return self._default_schema(custom or None)
        return self._by_macro(SCHEMA, custom or None, node)

    def alias(self, custom: str, node: Mapping[str, Plain]) -> str:
        """Return the name of a node's table."""
        if ALIAS not in self._own:
            return _default_alias(custom or None, node)
        return self._by_macro(ALIAS, custom or None, node)

    def _by_macro(self, macro: str, custom: str | None, node: Mapping[str, Plain]) -> str:
        found = self._guarded(partial(self._call, self._own[macro], macro, custom, node))
        text = str(found if found is not None else "").strip()
        if not text:
            raise UnknownValueError(macro)
        return text

    def _guarded(self, call: Callable[[], object]) -> Any:  # noqa: ANN401  what a template gives
        self._env.begin()
        try:
            return call()
        except _ReturnedError as found:
            return found.value
        except (TemplateError, BudgetError, RecursionError) as error:
            raise UnknownValueError(str(error)) from error
        except Exception as error:
            raise UnknownValueError(type(error).__name__) from error

    def _render(self, template: str) -> str:
        return self._env.from_string(template).render()

    def _declare(self, path: str, text: str) -> None:
        try:
            tree = self._env.parse(text, path)
        except (TemplateError, RecursionError):
            return  # a block of dbt that Jinja does not know: none of these macros names tables
        for macro in tree.find_all(nodes.Macro):
            self._own[macro.name] = path
            self._env.globals[macro.name] = partial(self._call, path, macro.name)

    def _call(self, path: str, macro: str, /, *args: object, **kwargs: object) -> object:
        try:
            return getattr(self._env.get_template(path).module, macro)(*args, **kwargs)
        except _ReturnedError as found:
            return found.value

    def _default_schema(self, custom: str | None, _node: object = None) -> str:
        return f"{self.target.schema}_{custom.strip()}" if custom else self.target.schema

    def _schema_for_env(self, custom: str | None, _node: object = None) -> str:
        is_prod = self.target.name == "prod" and custom
        return custom.strip() if is_prod and custom else self.target.schema

    def _var(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  a value of YAML
        known = {**self._vars, **mapping_of(self._vars.get(self.package))}
        if name not in known and default is None:
            raise UnknownValueError(name)
        value = known.get(name, default)
        return self._render(value) if isinstance(value, str) and "{{" in value else value


def _env_var(name: str, default: str | None = None) -> str:
    if default is None:
        raise UnknownValueError(name)
    return default


def _default_alias(custom: str | None, node: Mapping[str, Plain] | None = None) -> str:
    if custom:
        return custom.strip()
    name, version = str((node or {}).get("name", "")), (node or {}).get("version")
    return f"{name}_v{str(version).replace('.', '_')}" if version else name
