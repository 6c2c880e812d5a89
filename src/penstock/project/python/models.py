"""Functions as drafts of models: options checked, parameters resolved, code fingerprinted."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from penstock.core.findings import Location
from penstock.core.model import Model, PythonFunction, Source
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Target
from penstock.core.query import Query
from penstock.core.strategy import OnSchemaChange, strategies
from penstock.project.files.parsed import SqlFile
from penstock.project.files.sections import written_values
from penstock.project.files.values import Plain, did_you_mean, digest
from penstock.project.models import Built, Draft, entry_settings
from penstock.project.python.config import (
    PythonConfig,
    columns_of,
    contract_of,
    fitting_options,
    name_findings,
    paragraph_of,
    read_options,
    settings_of,
)
from penstock.project.python.declare import FunctionKind, PythonModel
from penstock.project.python.declared_columns import is_declared
from penstock.project.python.imports import Imported
from penstock.project.python.meaning import meaning_of
from penstock.project.python.parameters import Param, ParameterValues, shown_params
from penstock.project.python.sections import short_repr
from penstock.project.python.texts import path_below
from penstock.project.settings.check_keys import CHECK_KEYS
from penstock.project.settings.config import merged, shown_config, with_hooks
from penstock.project.settings.project import Settings, YamlEntry, absolute
from penstock.project.settings.strategy import layout_of
from penstock.project.sql.bodies import fingerprint_of_settings
from penstock.project.sql.names import Named, NameResolver

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(slots=True)
class PythonDraft(Draft):
    """A function with its options as a model to be linked."""

    declared: PythonModel[..., Any] = field(kw_only=True)
    options: Mapping[str, Any] = field(kw_only=True)
    """The decorator's options with valid types."""
    text: str = field(kw_only=True, default="")
    code: str = field(kw_only=True, default="")
    vars: Mapping[str, Plain] = field(kw_only=True, default_factory=dict)
    """The values of parameters: of the command, the target, the project."""

    def link(self, resolver: NameResolver) -> Built:
        """Resolve the parameters and every option."""
        return _Linking(self, resolver).built()

    @property
    def is_incremental(self) -> bool:
        """Whether windows keep it up to date."""
        return self.declared.kind is FunctionKind.INCREMENTAL

    @property
    def is_source(self) -> bool:
        """Whether it is a frame of a table or of files."""
        written = self.declared.options.keys() & {"table", "path"}
        return self.declared.kind is FunctionKind.SOURCE and bool(written)

    def source(self, root: Path, target: Target) -> Source | None:
        """Return the table or files that it names, if any, under the name that it uses."""
        if not self.is_source:
            return None
        options = self.options
        written = str(options.get("table") or options.get("path") or "")
        if "table" in options:
            schema, _, table = written.rpartition(".")
            name = TableName(schema, table)
            place = target.uri_of(name)
        else:
            name, place = TableName("", written), absolute(written, root)
        return Source(
            table=name,
            where=self.where,
            path=place,
            format=str(options.get("format", "delta")),
            options={str(k): str(v) for k, v in dict(options.get("options", {})).items()},
        )


def drafts_of(
    imported: Imported, entries: dict[str, YamlEntry], settings: Settings, root: Path
) -> list[PythonDraft]:
    """Return a draft of every function, each once; remove the entries that describe them.

    A function that is defined again, in a notebook, replaces the earlier one, and all its variants.
    """
    found: dict[tuple[str, str, str], list[PythonModel[..., Any]]] = {}
    newest = {each.identity[:2]: each.variant for each in imported.models}
    for each in imported.models:
        now = newest[each.identity[:2]]
        if (
            each.variant
            and not each.identity[0]
            and (not now or now.choices != each.variant.choices)
        ):
            continue
        known = found.setdefault(each.identity, [])
        place = next((n for n, other in enumerate(known) if _is_again(other, each)), len(known))
        if place == len(known) or not each.identity[0] or known[place].text != each.text:
            known[place : place + 1] = [each]
    functions = (each for known in found.values() for each in known)
    return [_draft(each, imported, entries, settings, root) for each in functions]


def _is_again(earlier: PythonModel[..., Any], now: PythonModel[..., Any]) -> bool:
    """Return whether a function was found before, redefined or reloaded; not defined twice."""
    if not now.identity[0]:
        return True
    if earlier.function is now.function:
        return (earlier.kind, earlier.options) == (now.kind, now.options)
    codes = [getattr(inspect.unwrap(m.function), "__code__", None) for m in (earlier, now)]
    if codes[0] is codes[1]:
        return False
    return earlier.place == now.place or earlier.text != now.text


def _draft(
    declared: PythonModel[..., Any],
    imported: Imported,
    entries: dict[str, YamlEntry],
    settings: Settings,
    root: Path,
) -> PythonDraft:
    file, line = declared.place
    shown = path_below(root, Path(file).resolve()) or file
    line, text = _definition(declared.text, line) or (line, "")
    where, name = Location(shown, line), declared.name
    meaning = meaning_of(declared, imported)
    entry = entries.pop(name, None)
    section = read_options(declared, where)
    options = fitting_options(declared, section)
    findings = [*section.findings, *name_findings(declared, where)]
    findings += [] if "version" in options else meaning.findings(name)
    described_by = with_hooks(entry_settings(entry.tree)) if entry else {}
    layers = [paragraph_of(declared), described_by, settings_of(declared, options)]
    config = PythonConfig(merged(layers), {}, where, name, findings)
    config.options = written_values(section)
    named = options.get("schema")
    schema = _folder(shown, settings) if is_declared(named) or not named else str(named)
    config.columns = columns_of(options, entry.tree.get("columns") if entry else None)
    return PythonDraft(
        name,
        where,
        name,
        SqlFile(shown, {k: _plain(options[k]) for k in CHECK_KEYS if k in options}, line),
        config,
        TableName(settings.target.schema_prefix + schema, name),
        TableName(schema, name),
        entry,
        path=_own_path(declared.kind, options, root),
        declared=declared,
        options=options,
        text=text,
        code=meaning.code,
        vars=settings.vars,
    )


def _own_path(kind: FunctionKind, options: Mapping[str, Any], root: Path) -> str:
    """Return the folder that a table declares; for a source it is not our table."""
    path = str(options.get("path") or "")
    stored = kind in (FunctionKind.TABLE, FunctionKind.INCREMENTAL)
    return absolute(path, root) if path and stored else ""


def _plain(written: object) -> Plain:
    """Return checks in the form of YAML, including values of `penstock.checks`."""
    match written:
        case None | str() | int() | float():
            return written
        case Mapping():
            return {str(key): _plain(value) for key, value in written.items()}
        case list() | tuple():
            return [_plain(each) for each in written]
        case _:
            as_mapping = getattr(written, "as_mapping", None)
            return cast("Plain", as_mapping()) if as_mapping else short_repr(written)


def _folder(path: str, settings: Settings) -> str:
    """Return a file's folder under `models/`; for other files the project's name."""
    for folder in settings.folders:
        if path.startswith(f"{folder}/"):
            inner = path.removeprefix(f"{folder}/").split("/")[:-1]
            return inner[-1] if inner else settings.name
    return settings.name


def _definition(module: str, line: int) -> tuple[int, str] | None:
    """Return the line of the `def` for a line of its decorators, and its text."""
    found = _definitions(module).get(line)
    if found is None:
        return None
    first, last = found
    return first, textwrap.dedent("\n".join(module.splitlines()[line - 1 : last]))


@lru_cache(maxsize=256)
def _definitions(module: str) -> Mapping[int, tuple[int, int]]:
    """Return the first and last lines of every `def`, by the line of its first decorator."""
    try:
        tree = ast.parse(module)
    except SyntaxError:
        return {}
    found: dict[int, tuple[int, int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.setdefault(first, (node.lineno, node.end_lineno or node.lineno))
    return found


def _persist(kind: FunctionKind, option: object) -> bool | None:
    """Read `persist`; by default a source is never kept."""
    if isinstance(option, bool):
        return option
    return False if kind is FunctionKind.SOURCE else None


@dataclass(slots=True)
class _Linking:
    """One function while its parameters become inputs."""

    draft: PythonDraft
    resolver: NameResolver
    parameters: dict[str, InputName] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    deltas: list[InputName] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)

    def built(self) -> Built:
        draft, config = self.draft, cast("PythonConfig", self.draft.config)
        self._link(draft.declared.kind)
        config.input_names = {param: each.name for param, each in self.parameters.items()}
        strategy = strategies()[config.text("materialized")].read(config)
        layout, built = layout_of(config, strategy), Built(strategy, findings=config.findings)
        inputs = tuple(dict.fromkeys(self.parameters.values()))
        built.parents = {i.name: draft.where.line for i in inputs if i.kind is InputKind.MODEL}
        description = config.text("description").strip()
        code = "\n".join((draft.code, *(f"# delta: {each}" for each in self.deltas)))
        built.model = Model(
            name=draft.name,
            table=draft.table,
            where=draft.where,
            strategy=strategy,
            query=Query("", "", draft.code, inputs, parsed=False, deltas=tuple(self.deltas)),
            fingerprint=replace(
                fingerprint_of_settings(strategy, layout, description, config.columns),
                sql=digest(draft.text),
                canonical=digest(code),
            ),
            depends_on=tuple(sorted(n for n in built.parents if n in self.resolver.built)),
            layout=layout,
            on_schema_change=OnSchemaChange.EXACT,
            columns=config.columns,
            contract=contract_of(draft.options),
            description=description,
            tags=config.texts("tags"),
            config=shown_config(config.settings),
            function=self._function(),
        )
        return built

    def _function(self) -> PythonFunction:
        draft = self.draft
        return PythonFunction(
            draft.declared.function,
            draft.text,
            self.parameters,
            frozenset(self.reserved),
            _persist(draft.declared.kind, draft.options.get("persist", "auto")),
            self.values,
            shown_params(self.values),
            contract_of(draft.options),
        )

    def _link(self, kind: FunctionKind) -> None:
        function = self.draft.declared.function
        odd = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
        if not inspect.isfunction(inspect.unwrap(function)):
            self._report("not-a-function", "is not a function", "write it with def")
            return
        if any(is_so(function) for is_so in odd):
            self._report("not-a-function", "is a coroutine or a generator", "return a DataFrame")
            return
        known = inspect.signature(function).parameters
        own = self.draft.declared.variant
        given = ParameterValues(self.draft.name, self.draft.vars, self.draft.config.report, own)
        self.values = given.values(function, short_repr)
        parameters = {
            name: each
            for name, each in known.items()
            if not (isinstance(each.default, Param) or (own and name in own.choices))
        }
        if kind is FunctionKind.SOURCE:
            self._link_source(parameters)
            return
        for name, parameter in parameters.items():
            if parameter.kind in _VARIADIC:
                sentence = f"takes *{name}, which names no input"
                made = "<locals>" in str(getattr(function, "__qualname__", ""))
                hint = "put @functools.wraps(function) above it, in the decorator that made it"
                self._report("variadic-parameter", sentence, hint if made else "name each input")
            elif name in ("spark", "window"):
                self.reserved.add(name)
            else:
                self._resolve(name, has_default=parameter.default is not parameter.empty)
        self._check_named()

    def _check_named(self) -> None:
        """Check the options that name parameters against the existing ones."""
        for key in ("window_on", "delta"):
            named = self.draft.options.get(key, ())
            for name in named if isinstance(named, Mapping | list) else ():
                if name not in self.parameters:
                    sentence = f"{key} names {name!r}, which is not an input of {self.draft.name!r}"
                    hint = did_you_mean(str(name), self.parameters)
                    self.draft.config.report(key, "bad-value", sentence, hint)
                elif key == "delta" and self._is_replaced(self.parameters[str(name)]):
                    sentence = f"delta names {name!r}, which is not an incremental table"
                    hint = "take it out: its rows are read whole"
                    self.draft.config.report(key, "delta-needs-incremental", sentence, hint)
                elif key == "delta":
                    self.deltas.append(self.parameters[str(name)])

    def _is_replaced(self, name: InputName) -> bool:
        return name.kind is not InputKind.MODEL or name.name not in self.resolver.incremental

    def _link_source(self, parameters: Mapping[str, inspect.Parameter]) -> None:
        source = self.draft.is_source
        allowed = ("df",) if source else ("spark",)
        strange = [name for name in parameters if name not in allowed]
        if strange or (source and list(parameters) != ["df"]):
            words = "exactly one parameter, df" if source else "spark or nothing"
            named = ", ".join(strange) or "nothing"
            sentence = f"is a source and takes {named}; it may take {words}"
            self._report("source-with-inputs", sentence, "make it a @model to read other models")
        elif source:
            options = self.draft.options
            name = str(options.get("table") or options.get("path") or "")
            self.parameters["df"] = InputName(InputKind.SOURCE, name)
        else:
            self.reserved |= set(parameters)

    def _resolve(self, name: str, *, has_default: bool) -> None:
        found = self._find_input(name)
        parameter, report = f"parameter {name!r} of {self.draft.name!r}", self.draft.config.report
        if isinstance(found, list):
            sentence = f"{parameter} is a table of several sources"
            report(name, "ambiguous-reference", sentence, " or ".join(sorted(found)))
        elif found is not None:
            self.parameters[name] = found.input
        elif not has_default:
            tables = (key.rpartition(".")[2] for key in self.resolver.sources)
            hint = did_you_mean(name, [*self.resolver.models, *tables])
            sentence = f"{parameter} is not a model, source or reserved name"
            report(name, "unknown-reference", sentence, hint)

    def _find_input(self, name: str) -> Named | list[str] | None:
        """Find a model, a table of one source, or either by `schema__name`."""
        resolver = self.resolver
        variant = self.draft.declared.variant
        alike = variant.namesakes(name) if variant else ()
        for each in (*(other for other in alike if other != self.draft.name), name):
            found = resolver.models.get(each.lower())
            if found is not None:
                return found
        ending = f".{name.lower()}"
        sources = [each for key, each in resolver.sources.items() if key.endswith(ending)]
        if len(sources) > 1:
            return [f"{each.table.schema}__{each.table.table}" for each in sources]
        if sources:
            return sources[0]
        schema, _, table = name.partition("__")
        return resolver.tables.get(f"{schema}.{table}".lower()) if table else None

    def _report(self, code: str, sentence: str, hint: str) -> None:
        self.draft.config.report("", code, f"{self.draft.name!r} {sentence}", hint)
