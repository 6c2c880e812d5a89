"""Unit tests of models: their values, and how they name models and inputs."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from penstock.core.checks.check import OnFailure
from penstock.core.columns.types import ColumnType
from penstock.core.findings import Location
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Project
from penstock.project.files.discovery import files_below
from penstock.project.files.nodes import YamlNode
from penstock.project.sql.names import called

DEFAULT_AS_OF = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
KEY = "unit_tests"
FOLDER = "tests"
THIS = "this"
_ASKING = (".sql", ".py", ".yml", ".yaml")
_VAR = re.compile(r"""\bvars?\s*[(\[]\s*['"]([^'"]+)['"]""")


class CellKind(StrEnum):
    """How a value is written, which decides its type if nothing else does."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TEXT = "text"
    LIST = "list"
    MAPPING = "mapping"


_PLAIN = {
    CellKind.INTEGER: r"[-+]?[0-9]+",
    CellKind.NUMBER: (
        r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
    CellKind.DATE: r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    CellKind.TIMESTAMP: (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]*)?)?"
        r"\s*(Z|[-+][0-9]{2}(:?[0-9]{2})?)?"
    ),
}


class Written(str):
    """A value as written; its type depends on its column."""

    __slots__ = ("kind",)
    kind: CellKind

    @classmethod
    def of(cls, text: str, kind: CellKind | None = None) -> Written:
        """Return the value for a text; the characters of an unquoted one determine the kind."""
        found = cls(text)
        forms = (each for each, form in _PLAIN.items() if re.fullmatch(form, text))
        found.kind = kind or next(forms, CellKind.TEXT)
        return found


def kind_of(cell: YamlNode) -> CellKind:
    """Return how a value is written."""
    match cell.value:
        case Written() as value:
            return value.kind
        case bool():
            return CellKind.BOOLEAN
        case str():
            return CellKind.TEXT
        case tuple():
            return CellKind.LIST
        case Mapping():
            return CellKind.MAPPING
    return CellKind.NULL


@dataclass(frozen=True, slots=True)
class GivenTable:
    """Rows of a test, or a query for them.

    `columns` are the types that the test declares, `file_types` those that project files declare
    for the same table; both by the column's written name. `header` are columns that are named
    without a value. `query` is SQL without tables, or a Parquet file as SQL reads it; then there
    are no `rows`.
    """

    where: Location
    rows: tuple[Mapping[str, YamlNode], ...] = ()
    columns: Mapping[str, ColumnType] = field(default_factory=dict)
    file_types: Mapping[str, ColumnType] = field(default_factory=dict)
    query: str = ""
    header: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in rows or in the test's own types, in order, without duplicates."""
        found = {name.lower(): name for name in (*self.header, *self.columns)}
        for row in self.rows:
            for name in row:
                found.setdefault(name.lower(), name)
        return tuple(found.values())

    @property
    def valued(self) -> frozenset[str]:
        """The columns in a header or a row, in lower case; not those in types alone."""
        return frozenset(name.lower() for row in (self.header, *self.rows) for name in row)

    def column(self, name: str) -> tuple[YamlNode, ...]:
        """Return the given values of a column, in any letter case."""
        named = ((key.lower(), cell) for row in self.rows for key, cell in row.items())
        return tuple(cell for key, cell in named if key == name.lower())

    def type_of(self, name: str) -> ColumnType | None:
        """Return the declared type of a column, in any letter case."""
        folded = name.lower()
        declared = (*self.columns.items(), *self.file_types.items())
        return next((kind for known, kind in declared if known.lower() == folded), None)


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier success without a commit; `partition` is "" for an unpartitioned model."""

    partition: str
    rows: int
    executed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class GivenWatermark:
    """A watermark as written; `column` is `input.column`, "" if there is only one."""

    column: str
    text: str
    where: Location


@dataclass(frozen=True, slots=True)
class Given:
    """The tables and records before a step. `target` None: the table does not exist.

    `slices` arrive for this run, by name; those of earlier runs still exist.
    """

    inputs: Mapping[InputName, GivenTable] = field(default_factory=dict)
    target: GivenTable | None = None
    watermarks: tuple[GivenWatermark, ...] = ()
    history: tuple[Earlier, ...] = ()
    slices: Mapping[str, GivenTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expectations after a step; None or empty parts are not checked.

    `status` "" accepts any success, with or without changes. `checks` are by name, or by
    `before.NAME` and `after.NAME` if both phases have one.
    """

    where: Location
    rows: GivenTable | None = None
    columns: Mapping[str, ColumnType] = field(default_factory=dict)
    columns_exact: bool = False
    unchanged: bool = False
    row_count: int | None = None
    commits: int | None = None
    metrics: Mapping[str, int] = field(default_factory=dict)
    watermark: tuple[GivenWatermark, ...] = ()
    quarantine: GivenTable | None = None
    checks: Mapping[str, str] = field(default_factory=dict)
    status: str = ""
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The error with which a step must fail, leaving its table unchanged."""

    where: Location
    code: str
    contains: str = ""


@dataclass(frozen=True, slots=True)
class UnitRun:
    """One step of a test; `first` and `last` are keys of partitions, "" without partitions."""

    given: Given = Given()
    as_of: dt.datetime = DEFAULT_AS_OF
    first: str = ""
    last: str = ""
    full_refresh: bool = False
    on_failure: OnFailure | None = None
    expect: Expectation | None = None
    error: ExpectedError | None = None


@dataclass(frozen=True, slots=True)
class UnitTest:
    """A test of one model: its runs, in sequence, in a separate warehouse.

    `version` is the model's version to test, None for the one that its date determines. `key` pairs
    rows for display. `written` is the model's name in the test.
    """

    name: str
    model: str
    where: Location
    runs: tuple[UnitRun, ...]
    written: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    version: int | None = None
    vars: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()


def files_with_tests(project: Project) -> Iterator[str]:
    """Yield every YAML file that contains the key's name, below the project's folder."""
    root = Path(project.root)
    for folder in dict.fromkeys((FOLDER, *project.folders)):
        for path in files_below(root, folder, []):  # loading the project told what is odd
            if not path.endswith((".yml", ".yaml")):
                continue
            with suppress(OSError):  # its reader says why
                if KEY.encode() not in (root / path).read_bytes():
                    continue
            yield path


def asked_variables(project: Project) -> set[str]:
    """Return the names that any SQL, Python or YAML of the project passes to `var`."""
    root, found = Path(project.root), set[str]()
    for folder in dict.fromkeys((*project.folders, "macros", FOLDER)):
        for path in files_below(root, folder, []):
            if PurePosixPath(path).suffix in _ASKING:
                with suppress(OSError):  # its reader says why
                    found.update(_VAR.findall((root / path).read_text("utf-8", "replace")))
    return found


def plain(text: str) -> str:
    """Return a name without the call around it.

    >>> plain("ref('users')"), plain("source('raw', 'events')"), plain("raw.events")
    ('users', 'raw.events', 'raw.events')
    """
    kind, names = called(text)
    return ".".join(names) if kind == "source" else "".join(names[-1:])


def model_named(project: Project, text: str) -> Model | None:
    """Find a model by its name or its table, in any letter case."""
    wanted = plain(text).lower()
    for model in project.models.values():
        if wanted in _forms(project, model.name, model.table):
            return model
    return None


def input_named(project: Project, model: Model, text: str) -> InputName | None:
    """Find the model's input with a name; `this` and its own table are the target."""
    wanted = plain(text).lower()
    if wanted == THIS or wanted in _forms(project, model.name, model.table):
        return InputName(InputKind.THIS, model.name)
    for name in readable(model):
        source = project.sources.get(name.name) if name.kind is InputKind.SOURCE else None
        called_so = {str(source.known_as).lower()} if source and source.known_as else set()
        if wanted in _forms(project, name.name, project.table_of(name, model)) | called_so:
            return name
    return None


def inputs_of(model: Model) -> tuple[InputName, ...]:
    """Return every table that a model reads, without its own."""
    return tuple(n for n in dict.fromkeys(model.inputs) if n.kind is not InputKind.THIS)


def readable(model: Model) -> tuple[InputName, ...]:
    """Return every table that a model or its checks read, without its own, inputs first."""
    checks = (model.checks, *(version.checks for version in model.versions))
    read = (name for each in checks for check in each.all for name in check.reads)
    found = dict.fromkeys((*inputs_of(model), *read))
    return tuple(n for n in found if n.kind is not InputKind.THIS and n != model.input_name)


def _forms(project: Project, name: str, table: TableName) -> set[str]:
    bare = table.schema.removeprefix(project.target.schema_prefix)
    return {name.lower(), str(table).lower(), f"{bare}.{table.table}".lower().lstrip(".")}
