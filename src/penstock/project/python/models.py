"""Functions as drafts of models: options checked, parameters resolved, code fingerprinted."""

from __future__ import annotations

import ast
import datetime as dt
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from penstock.core.findings import Finding, Location
from penstock.core.model import FunctionKind, Model, PythonFunction, Source
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Target
from penstock.core.query import Query
from penstock.core.strategy import OnSchemaChange, WindowSettings, strategies
from penstock.project.files.parsed import SqlFile
from penstock.project.files.values import Plain, did_you_mean, digest, nearest, parse_duration
from penstock.project.models import Built, Draft, entry_settings
from penstock.project.python.declare import PythonModel, shape_of
from penstock.project.python.imports import Imported
from penstock.project.python.source import normalised
from penstock.project.settings.check_keys import CHECK_KEYS
from penstock.project.settings.config import merged, shown_config
from penstock.project.settings.project import Settings, YamlEntry, absolute, column_docs
from penstock.project.settings.strategy import StrategyConfig, layout_of
from penstock.project.sql.bodies import Description, fingerprint_of_settings
from penstock.project.sql.names import Named, NameResolver

RESERVED = ("spark", "window", "df")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_READ_AGAIN = {"lookback", "grain"}
_SHOWN = 80


@dataclass(slots=True)
class PythonDraft(Draft):
    """A function with its options as a model that is to be linked."""

    declared: PythonModel[..., Any] = field(kw_only=True)
    text: str = field(kw_only=True, default="")
    code: str = field(kw_only=True, default="")

    def made(self, resolver: NameResolver) -> Built:
        """Resolve the parameters and every option."""
        return _Linking(self, resolver).built()

    @property
    def is_incremental(self) -> bool:
        """Whether windows keep it up to date."""
        return self.declared.kind is FunctionKind.INCREMENTAL

    @property
    def is_source(self) -> bool:
        """Whether it is a frame of a table or of files that it names."""
        options = self.declared.options
        return self.declared.kind is FunctionKind.SOURCE and bool(
            options.keys() & {"table", "path"}
        )

    def source(self, root: Path, target: Target) -> Source:
        """Give the table or files that it names, under the name that it writes."""
        options = cast("Mapping[str, Any]", self.declared.options)
        written = str(options.get("table") or options.get("path"))
        if "table" in options:
            schema, _, table = written.rpartition(".")
            name = TableName(schema, table)
            place = f"{target.warehouse.rstrip('/')}/{schema}/{table}"
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
    imported: Imported,
    entries: Callable[[str], YamlEntry | None],
    settings: Settings,
    root: Path,
) -> list[PythonDraft]:
    """Give a draft of every function, each once, however often it was reached."""
    found: dict[tuple[str, str, str], PythonModel[..., Any]] = {}
    for each in imported.models:
        found.setdefault(each.identity, each)
    return [_draft(each, imported, entries, settings, root) for each in found.values()]


def _draft(
    declared: PythonModel[..., Any],
    imported: Imported,
    entries: Callable[[str], YamlEntry | None],
    settings: Settings,
    root: Path,
) -> PythonDraft:
    file, line = declared.place
    path = Path(file).resolve()
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else file
    try:
        module = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # typed into a notebook
        module = ""
    line, text = _definition(module, line) or (line, "")
    where, name = Location(shown, line), declared.name
    entry = entries(name)
    options = dict(declared.options)
    findings = [*_misfits(declared, where), *_name_findings(name, where)]
    layers = [_settings(declared, options), entry_settings(entry.tree) if entry else {}]
    config = PythonConfig(merged([layers[1], layers[0]]), {}, where, name, findings)
    config.options = options
    schema = str(options.get("schema") or _folder(shown, settings))
    described: Plain = entry.tree.get("columns") if entry else None
    config.columns = column_docs(_columns(options) if described is None else described)
    return PythonDraft(
        name,
        where,
        name,
        SqlFile(shown, {k: cast("Plain", options[k]) for k in CHECK_KEYS if k in options}, line),
        config,
        TableName(settings.target.schema_prefix + schema, name),
        TableName(schema, name),
        entry,
        declared=declared,
        text=text,
        code=_code(module, declared, imported),
    )


def _folder(path: str, settings: Settings) -> str:
    """Give the folder under `models/` in which a file lies; elsewhere the project's name."""
    for folder in settings.folders:
        if path.startswith(f"{folder}/"):
            inner = path.removeprefix(f"{folder}/").split("/")[:-1]
            return inner[-1] if inner else settings.name
    return settings.name


def _definition(module: str, line: int) -> tuple[int, str] | None:
    """Give the line of the `def` that begins, with its decorators, on a line; and its text."""
    try:
        tree = ast.parse(module)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == line:
                lines = module.splitlines()[first - 1 : node.end_lineno]
                return node.lineno, textwrap.dedent("\n".join(lines))
    return None


def _code(module: str, declared: PythonModel[..., Any], imported: Imported) -> str:
    """Give what the function means: its code and the code of the project that it reaches."""
    name = declared.function.__qualname__
    try:
        return normalised(module, name.partition(".")[0], imported.modules)
    except (SyntaxError, KeyError):
        return module


def _settings(declared: PythonModel[..., Any], options: Mapping[str, Any]) -> dict[str, Plain]:
    """Give the options in the words of every other front end."""
    same = ("partition_by", "cluster_by", "table_properties", "unique_key", "time_column", "tags")
    more = ("window_on", "null_watermark", "string_watermark", "null_keys", "on_duplicate")
    found: dict[str, Plain] = {k: options[k] for k in (*same, *more) if k in options}
    doc = inspect.cleandoc(declared.function.__doc__ or "").partition("\n\n")[0]
    described = str(options.get("description", " ".join(doc.split())))
    found |= {"description": described} if described else {}
    found["materialized"] = _word(declared.kind, options)
    if found["materialized"] == "merge" and options.get("on_duplicate", "latest") == "latest":
        found |= {"on_duplicate": "latest", "order_by": options.get("time_column")}
    if found["materialized"] == "merge":
        found["newest_by"] = options.get("time_column")
    return found


def _word(kind: FunctionKind, options: Mapping[str, Any]) -> str:
    match kind:
        case FunctionKind.SOURCE | FunctionKind.MODEL:
            return "frame"
        case FunctionKind.TABLE:
            return "table"
        case FunctionKind.INCREMENTAL:
            if options.get("unique_key"):
                return "merge"
            again = options.get("partition_mode") == "overwrite" or options.keys() & _READ_AGAIN
            return "overwrite" if again else "append"


def _persist(kind: FunctionKind, option: object) -> bool | None:
    """Read `persist`; by itself a source is never kept."""
    if isinstance(option, bool):
        return option
    return False if kind is FunctionKind.SOURCE else None


def _columns(options: Mapping[str, Any]) -> Plain:
    given = options.get("columns")
    if not isinstance(given, Mapping):
        return None
    return [{"name": str(n), "description": str(t)} for n, t in given.items()]


@dataclass(slots=True)
class PythonConfig(StrategyConfig):
    """The settings of a function, as its strategy reads them."""

    options: Mapping[str, Any] = field(default_factory=dict)

    def window(self) -> WindowSettings | None:
        """Read how new rows are found; a lookback may be any value that the type allows."""
        found = StrategyConfig.window(self)
        if found is None:
            return None
        lookback = lookback_of(self.options["lookback"]) if "lookback" in self.options else None
        overlaps = self.text("materialized") == "overwrite"
        grain = str(self.options.get("grain", ""))
        return replace(found, lookback=lookback, grain=grain, overlaps=overlaps)


def lookback_of(value: object) -> dt.timedelta | int | None:
    """Read a lookback; None where it cannot be read, or reaches forward."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = parse_duration(value)
        except ValueError:
            return None
    zero = dt.timedelta(0) if isinstance(value, dt.timedelta) else 0
    if not isinstance(value, dt.timedelta | int) or value < zero:  # type: ignore[operator]
        return None
    return value


def _misfits(declared: PythonModel[..., Any], where: Location) -> list[Finding]:
    """Say which options cannot be: of another type, of no such word, or not together."""
    options, found = declared.options, []
    try:
        TypeAdapter(shape_of(declared.kind)).validate_python(dict(options), strict=True)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_context=True):
            key = str(each["loc"][0]) if each["loc"] else ""
            found.append(_misfit(key, options.get(key), each, where))
    if "lookback" in options and lookback_of(options["lookback"]) is None:
        sentence = f"lookback is {_shown(options['lookback'])}; it must be a duration, 0 or more"
        found.append(Finding(where, "bad-value", sentence, "such as '1 day', or 0"))
    found += [Finding(where, code, sentence, hint) for code, sentence, hint in _conflicts(options)]
    by_key = {(each.code, each.sentence.partition(" ")[0]): each for each in reversed(found)}
    return sorted(by_key.values())


def _misfit(key: str, value: object, error: Mapping[str, Any], where: Location) -> Finding:
    sentence = (
        f"{key} is {_shown(value)}; it must be {error['msg'].removeprefix('Input should be ')}"
    )
    words = re.findall(r"'([^']+)'", str(error.get("ctx", {}).get("expected", "")))
    near = nearest(str(value), words) if words else ""
    return Finding(where, "bad-value", sentence, near)


def _conflicts(options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Give code, sentence and hint of every two options that exclude each other."""

    def both(*keys: str) -> bool:
        return all(key in options for key in keys)

    overwrites = options.get("partition_mode") == "overwrite"
    rules = (
        (both("table", "path"), "table and path both say what is read", "keep one of them"),
        (
            both("partition_by", "cluster_by"),
            "partition_by and cluster_by exclude each other: Delta clusters or partitions",
            "keep one of them",
        ),
        (
            overwrites and "partition_by" not in options,
            "partition_mode overwrite needs partition_by",
            "name the partition columns",
        ),
        (
            overwrites and "unique_key" in options,
            "partition_mode overwrite replaces rows that unique_key would merge",
            "keep one of them",
        ),
        (
            "unique_key" not in options and bool(options.keys() & {"on_duplicate", "null_keys"}),
            "on_duplicate and null_keys are about rows of one key, and there is no unique_key",
            "unique_key='id'",
        ),
    )
    return [("option-conflict", sentence, hint) for is_so, sentence, hint in rules if is_so]


def _name_findings(name: str, where: Location) -> list[Finding]:
    if name in RESERVED:
        sentence = f"{name!r} is what functions are given, and no name of a model"
        return [Finding(where, "reserved-name", sentence, "give the function another name")]
    if not _IDENTIFIER.fullmatch(name):
        sentence = f"{name!r} cannot name a model of Python"
        return [Finding(where, "bad-value", sentence, "an identifier without dots")]
    return []


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@dataclass(slots=True)
class _Linking:
    """One function while its parameters become inputs."""

    draft: PythonDraft
    resolver: NameResolver
    parameters: dict[str, InputName] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def built(self) -> Built:
        draft, config = self.draft, self.draft.config
        kind = draft.declared.kind
        strategy = strategies()[config.text("materialized")].read(cast("PythonConfig", config))
        layout = layout_of(config, strategy)
        self._link(kind)
        built = Built(strategy, findings=[*config.findings, *self.findings])
        inputs = tuple(dict.fromkeys(self.parameters.values()))
        built.parents = {i.name: draft.where.line for i in inputs if i.kind is InputKind.MODEL}
        said = Description(config.text("description").strip(), config.columns)
        schema_change = OnSchemaChange.SYNC if kind is FunctionKind.TABLE else OnSchemaChange.FAIL
        built.model = Model(
            name=draft.name,
            table=draft.table,
            where=draft.where,
            strategy=strategy,
            query=Query("", "", draft.code, inputs, parsed=False),
            fingerprint=replace(
                fingerprint_of_settings(strategy, layout, said),
                sql=digest(draft.text),
                canonical=digest(draft.code),
            ),
            depends_on=tuple(sorted(n for n in built.parents if n in self.resolver.built)),
            layout=layout,
            on_schema_change=schema_change,
            columns=said.columns,
            description=said.description,
            tags=config.texts("tags"),
            config=shown_config(config.settings),
            function=PythonFunction(
                draft.declared.function,
                draft.text,
                self.parameters,
                frozenset(self.reserved),
                _persist(kind, draft.declared.options.get("persist", "auto")),
            ),
        )
        return built

    def _link(self, kind: FunctionKind) -> None:
        function = self.draft.declared.function
        odd = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
        if any(is_so(function) for is_so in odd):
            self._report("not-a-function", "is a coroutine or a generator", "return a DataFrame")
            return
        parameters = inspect.signature(function).parameters
        if kind is FunctionKind.SOURCE:
            self._link_source(parameters)
            return
        for name, parameter in parameters.items():
            if parameter.kind in _VARIADIC:
                sentence = f"takes *{name}, which names no input"
                self._report("variadic-parameter", sentence, "name each input")
            elif name in ("spark", "window"):
                self.reserved.add(name)
            else:
                self._resolve(name, has_default=parameter.default is not parameter.empty)
        self._check_named()

    def _check_named(self) -> None:
        """Hold the options that name parameters against those there are."""
        options, where = self.draft.declared.options, self.draft.where
        for key in ("window_on", "delta"):
            named = options.get(key, ())
            for name in named if isinstance(named, Mapping | list) else ():
                if name not in self.parameters:
                    sentence = f"{key} names {name!r}, which is no input of {self.draft.name!r}"
                    hint = did_you_mean(str(name), self.parameters)
                    self.findings.append(Finding(where, "bad-value", sentence, hint))
                elif key == "delta" and self._is_replaced(self.parameters[str(name)]):
                    sentence = f"delta names {name!r}, which is no incremental table"
                    hint = "take it out: its rows are read whole"
                    self.findings.append(Finding(where, "delta-needs-incremental", sentence, hint))

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
            name = str(
                self.draft.declared.options.get("table") or self.draft.declared.options["path"]
            )
            self.parameters["df"] = InputName(InputKind.SOURCE, name)
        else:
            self.reserved |= set(parameters)

    def _resolve(self, name: str, *, has_default: bool) -> None:
        found = self._named(name)
        if isinstance(found, list):
            hint = " or ".join(sorted(found))
            sentence = f"parameter {name!r} of {self.draft.name!r} is a table of several sources"
            self.findings.append(Finding(self.draft.where, "ambiguous-reference", sentence, hint))
        elif found is not None:
            self.parameters[name] = found.input
        elif not has_default:
            sentence = (
                f"parameter {name!r} of {self.draft.name!r} is no model, source or reserved name"
            )
            hint = did_you_mean(name, self._known())
            self.findings.append(Finding(self.draft.where, "unknown-reference", sentence, hint))

    def _named(self, name: str) -> Named | list[str] | None:
        """Find a model, a table of one source, or either by `schema__name`."""
        resolver = self.resolver
        found = resolver.models.get(name.lower())
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

    def _known(self) -> list[str]:
        tables = (key.rpartition(".")[2] for key in self.resolver.sources)
        return [*itertools.chain(self.resolver.models, tables)]

    def _report(self, code: str, sentence: str, hint: str) -> None:
        where, name = self.draft.where, self.draft.name
        self.findings.append(Finding(where, code, f"{name!r} {sentence}", hint))
