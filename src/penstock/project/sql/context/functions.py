"""The functions of templates that belong to one rendering: settings, variables, errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from penstock.core.findings import Severity
from penstock.core.names import quoted
from penstock.core.query import RUN_WORD
from penstock.project.files.discovery import model_name
from penstock.project.files.macro_files import package_of
from penstock.project.files.render_context import KnownTable, RenderContext
from penstock.project.files.values import Plain, did_you_mean
from penstock.project.sql.context.rendering import ConfigCall, Now
from penstock.project.sql.context.values import (
    Facade,
    Record,
    RelationView,
    UnknownPartError,
)
from penstock.project.sql.template_budget import MacroReturn


# Any, here and below: the arguments are whatever a template passes.
class ConfigFunction:
    """`config`: sets settings of the file, and reads those of its model."""

    def __init__(self, now: Now, context: RenderContext) -> None:
        self._now = now
        self._context = context

    def __call__(self, *args: Any, **settings: Any) -> str:  # noqa: ANN401
        """Add settings of a header."""
        now = self._now()
        line = now.current_line
        if args and not all(isinstance(arg, dict) for arg in args):
            now.report("bad-value", "config takes settings by name: config(materialized=…)")
        given: dict[str, object] = {}
        for each in (*args, settings):
            given |= each if isinstance(each, dict) else {}
        plain = {key: plain_value(value) for key, value in given.items()}
        for key, value in plain.items():
            if RUN_WORD in str(value):
                sentence = f"config: {key} cannot depend on the run"
                now.report("bad-value", sentence, "use run_started_at in the query only")
        now.configs.append(ConfigCall(plain, line, now.headers.get(line, {})))
        return ""

    set = __call__

    def get(self, name: str, default: Any = None, validator: Any = None) -> Any:  # noqa: ANN401
        """Return a setting of the header, the YAML or the defaults; else the default."""
        del validator
        found = self._find(name)
        return default if found is None else found

    def require(self, name: str, validator: Any = None) -> Any:  # noqa: ANN401
        """Return a setting; a missing one is a finding."""
        del validator
        found = self._find(name)
        if found is None and self._context.tables is not None:
            sentence = f"config.require: {name!r} is not set"
            raise UnknownPartError(sentence, f"set it: config({name}=…)", "bad-value")
        return found

    def meta_get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401
        """Return a key of `meta`."""
        meta = self._find("meta")
        return meta.get(name, default) if isinstance(meta, Mapping) else default

    def persist_relation_docs(self) -> bool:
        """Return whether descriptions are written with the table: always."""
        return True

    persist_column_docs = persist_relation_docs

    def _find(self, name: str) -> Plain:
        now = self._now()
        own = [each.settings[name] for each in now.configs if name in each.settings]
        if own:
            return own[-1]
        self._now().reads.add(self._context.read("setting", f"{now.key}\n{name}"))
        return self._context.tables.setting(now.key, name) if self._context.tables else None


class VarFunction:
    """`var`: values of `vars` and `--vars`; `render` renders one that is a template itself."""

    def __init__(self, now: Now, context: RenderContext, render: Callable[[str], str]) -> None:
        self._now = now
        self._context = context
        self._render = render

    def __call__(self, name: str, *default: Any) -> Any:  # noqa: ANN401
        """Return a value, or the default."""
        found = self._find(name)
        if not found and not default:
            hint = did_you_mean(name, self._context.vars) or f"set it under vars: {name}: …"
            self._now().report("missing-var", f"no var is called {name!r}", hint)
        value = found[0] if found else default[0] if default else ""
        return self._render(value) if found and isinstance(value, str) and "{{" in value else value

    def has_var(self, name: str) -> bool:
        """Return whether it has a value."""
        return bool(self._find(name))

    def _find(self, name: str) -> list[Plain]:
        """Return the value for the package of the file that is rendered, alone in a list."""
        package = package_of(self._now().path)
        self._now().reads.add(self._context.read("var", f"{package}\n{name}"))
        return self._context.variable(name, package)


class Words:
    """The other functions: variables of the environment, documentation, and errors."""

    def __init__(self, now: Now, context: RenderContext) -> None:
        self._now = now
        self._context = context

    def env_var(self, name: str, *default: Any) -> Any:  # noqa: ANN401
        """Return a variable of the environment, or the default."""
        known = self._context.environ
        self._now().reads.add(self._context.read("env", name))
        if name not in known and not default:
            hint = f"set it, or write env_var('{name}', 'default')"
            sentence = f"the environment variable {name} is not set"
            self._now().report("missing-env-var", sentence, hint)
        return known.get(name, default[0] if default else "")

    def doc(self, *names: str) -> str:
        """Return a block of documentation; a package's name may stand before."""
        name = str(names[-1]) if names else ""
        self._now().reads.add(self._context.read("doc", name))
        if name not in self._context.docs:
            hint = did_you_mean(name, self._context.docs) or f"{{% docs {name} %}} in a .md file"
            raise UnknownPartError(f"no docs block is called {name!r}", hint, "unknown-docs")
        return self._context.docs[name]

    def is_incremental(self) -> bool:
        """Return whether the query adds to a table that exists."""
        self._now().is_branching = True
        return self._now().incremental

    def full_refresh(self) -> bool:
        """Return whether the query builds the whole table."""
        return not self.is_incremental()

    def warn(self, message: object = "", *_: object) -> str:
        """Report a warning."""
        self._now().report("template-warning", str(message) or "warning", "", Severity.WARNING)
        return ""

    def fail(self, message: object = "", *_: object, **_options: object) -> NoReturn:
        """Report an error, and stop rendering."""
        code = "template-raised"
        raise UnknownPartError(str(message) or "the template gives up", "", code)

    def target(self) -> Record:
        """Return `target`."""
        target, project = self._context.target, self._context.project
        values: dict[str, object] = {
            "name": target.name,
            "target_name": target.name,
            "schema": f"{target.schema_prefix}{project}",
            "database": target.catalog,
            "type": "spark",
            "profile_name": project,
            "threads": self._context.threads,
            "catalog": target.catalog,
            "schema_prefix": target.schema_prefix,
        }

        def find(key: str) -> object:
            self._now().reads.add(self._context.read("target"))
            return values[key]

        return Record(values, find)

    def flags(self) -> Record:
        """Return `flags`."""
        values: dict[str, object] = {"FULL_REFRESH": False, "WHICH": "run", "STORE_FAILURES": False}

        def find(key: str) -> object:
            return self.full_refresh() if key == "FULL_REFRESH" else values[key]

        return Record(values, find)

    def model(self, this: RelationView, config: ConfigFunction) -> Record:
        """Return `model`: the file that is rendered."""
        project = self._context.project

        def name() -> str:
            path = self._now().path
            return model_name(path) if path.endswith(".sql") else this.model

        finders: dict[str, Callable[[], object]] = {
            "name": name,
            "alias": lambda: this.identifier,
            "schema": lambda: this.schema,
            "database": lambda: this.database,
            "resource_type": lambda: "model",
            "package_name": lambda: project,
            "unique_id": lambda: f"model.{project}.{name()}",
            "path": lambda: self._now().path,
            "original_file_path": lambda: self._now().path,
            "language": lambda: "sql",
            "tags": lambda: config.get("tags", []),
            "config": lambda: Facade({"get": config.get, "require": config.require}),
            "meta": lambda: config.get("meta", {}),
        }
        return Record(finders, lambda key: finders[key]())

    def graph(self) -> Record:
        """Return `graph`: the models, seeds and sources of the project, by id."""

        def nodes(*, is_source: bool) -> dict[str, Record]:
            self._now().reads.add(self._context.read("graph"))
            known = self._context.tables.all() if self._context.tables else ()
            return {
                key: Record(values, values.__getitem__)
                for each in known
                if (each.resource == "source") is is_source
                for key, values in [self._node(each)]
            }

        found = {
            "nodes": partial(nodes, is_source=False),
            "sources": partial(nodes, is_source=True),
        }
        return Record(found, lambda key: found[key]())

    def _node(self, table: KnownTable) -> tuple[str, dict[str, object]]:
        key = f"{table.resource}.{self._context.project}.{table.name}"
        return key, {
            "unique_id": key,
            "name": table.name.rpartition(".")[2],
            "resource_type": table.resource,
            "package_name": self._context.project,
            "source_name": table.name.rpartition(".")[0],
            "schema": table.schema,
            "alias": table.table,
            "identifier": table.table,
            "database": table.catalog,
            "materialized": "view" if table.is_view else "table",
            "original_file_path": table.path,
        }


def plain_value(value: object) -> Plain:
    """Return a value of a template as one of YAML."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    return str(value)


def end_macro(value: object = None) -> NoReturn:
    """End the macro with a value."""
    raise MacroReturn(value)


def print_nothing(*_: object, **_options: object) -> str:
    """Return no text: rendering is repeated and cached, so nothing is printed."""
    return ""


def quote(name: object) -> str:
    """Return a name in backticks."""
    return quoted(str(name))
