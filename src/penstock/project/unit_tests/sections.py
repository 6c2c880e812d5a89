"""The keys of unit tests, each declared once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, TypeVar

from penstock.core.checks.check import OnFailure
from penstock.core.columns.types import ColumnType
from penstock.core.findings import Finding
from penstock.project.files import values
from penstock.project.files.kinds import TEXT, ValueKind, whole, word
from penstock.project.files.nodes import Section, YamlNode
from penstock.project.files.sections import (
    OBJECT,
    TEXTS,
    KeyedSection,
    PartKind,
    key,
    node_as,
    nodes,
    refer,
    subsection,
)
from penstock.project.files.values import Plain
from penstock.project.unit_tests.casting import CellError, scalar
from penstock.project.unit_tests.definition import CellKind, GivenWatermark, Written

T = TypeVar("T")
S = TypeVar("S", bound=KeyedSection)
FORMS = ("rows", "csv", "sql", "file")
_OBJECTS: Plain = {"type": "array", "items": OBJECT}
_COUNTED: Plain = {"row_count": 1}
_ROWS: Plain = {"rows": [{"n": 1}]}
_WORDS: Plain = ["string", "number", "integer", "boolean"]
_SCALAR: Plain = {"type": _WORDS}


def _is(value: object, kind: CellKind) -> bool:
    return isinstance(value, Written) and value.kind is kind


def _switch(value: object) -> bool | None:
    words = ("true", "yes", "on")
    return str(value).lower() in words if _is(value, CellKind.BOOLEAN) else None


def _count(value: object) -> int | None:
    text = str(value)
    return int(text) if _is(value, CellKind.INTEGER) and text[0] != "-" else None


def _time(value: object) -> dt.datetime | None:
    with suppress(CellError):
        found = scalar(str(value), "timestamp")
        return found.replace(tzinfo=dt.UTC) if isinstance(found, dt.datetime) else None
    return None


def _share(value: object) -> float | None:
    with suppress(ValueError):
        found = float(str(value))
        return found if 0 <= found < 1 and not _is(value, CellKind.BOOLEAN) else None
    return None


LINE: ValueKind[str] = replace(TEXT, schema=_SCALAR)
NAME: ValueKind[str] = replace(LINE, parse=lambda value: TEXT.parse(value) or None)
SWITCH = ValueKind("true or false", _switch, {"type": "boolean"}, None)
COUNT = ValueKind("an integer >= 0", _count, whole(0).schema, None)
TIME = ValueKind(
    "a time, for example 2024-06-02T00:00:00Z", _time, {"type": _WORDS, "$comment": "time"}, None
)
SHARE = ValueKind(
    "a number from 0 to below 1, for example 1e-9", _share, {"type": ["number", "string"]}, 0.0
)


def _part(take: Callable[[Section, str], T], empty: T, schema: Plain) -> PartKind[T]:
    return PartKind("a mapping", lambda value: value, schema, empty, take=take)


def _named_nodes(section: Section, name: str, of: str) -> Mapping[str, YamlNode]:
    """Return the members of a mapping whose keys are free; anything else is a finding."""
    node = section.find(name)
    if node is not None and not isinstance(node.value, Mapping):
        section.bad(name, f"a mapping of names to {of}")
    return node.members if node else {}


def _pairs(of: str, kind: ValueKind[T]) -> PartKind[dict[str, T]]:
    def take(section: Section, name: str) -> dict[str, T]:
        members = _named_nodes(section, name, of)
        free = Section(section.node, "", section.findings, members)
        return {each: free.read(each, kind) for each in members}

    return _part(take, {}, {"type": "object", "additionalProperties": kind.schema})


def _types(section: Section, name: str) -> dict[str, ColumnType]:
    found = {}
    for column, inner in _named_nodes(section, name, "types").items():
        free = Section(section.node, "", section.findings, {column: inner})
        try:
            found[column] = values.read_type(free.read(column, LINE))
            continue
        except values.UnsupportedTypeError as error:
            hint, sentence = error.hint, f"column {column!r}: Delta has no type {error.word!r}"
        except values.UnknownTypeError as error:
            hint, sentence = "", f"column {column!r}: {error.word!r} names no type"
        free.report(column, "bad-value", sentence, hint)
    return found


def _watermarks(section: Section, name: str) -> tuple[GivenWatermark, ...]:
    node = section.find(name)
    if node is None:
        return ()
    if not isinstance(node.value, Mapping):
        return (GivenWatermark("", section.read(name, LINE), node.where),)
    free = Section(node, "", section.findings, node.members)
    return tuple(
        GivenWatermark(each, free.read(each, LINE), inner.where)
        for each, inner in node.members.items()
    )


_TYPED: Plain = {"type": "object", "additionalProperties": TEXT.schema}
_MARKED: Plain = {"anyOf": [_SCALAR, {"type": "object", "additionalProperties": _SCALAR}]}
TYPES: PartKind[dict[str, ColumnType]] = _part(_types, {}, _TYPED)
WATERMARKS: PartKind[tuple[GivenWatermark, ...]] = _part(_watermarks, (), _MARKED)


class TestedSection(KeyedSection):
    """A mapping whose keys have no path in messages."""

    def dotted(self, key: str) -> str:
        """Return the name of a key in sentences."""
        return key

    def _missing(self, key: str) -> None:
        sentence = f"{self.above} needs {key}"
        self.findings.append(Finding(self.node.where, "missing-key", sentence))


class TableSection(TestedSection):
    """A table in one of several forms."""

    definition = "table"
    instead: ClassVar[Plain] = _OBJECTS

    rows = key(node_as({"type": ["array", "string"], "items": OBJECT}), [{"n": 1}], "another form")
    """A list of mappings; a column that a row leaves out is NULL."""
    csv = key(TEXT, "n\n1\n", "another form")
    """Text with a header; an empty cell is NULL, `""` the empty text."""
    sql = key(TEXT, "select 1 as n", "another form")
    """A SELECT that reads no table."""
    file = key(TEXT, "users.csv", "another form")
    """A `.csv`, `.json`, `.parquet` or `.sql` file under `tests/`."""
    columns = key(TYPES, {"n": "BIGINT"}, "declared types, else those of the values")
    """Column → type, where types must be said."""


class FixtureSection(TableSection):
    """A table of dbt's shape."""

    instead: ClassVar[Plain] = None

    fixture = key(TEXT, "users", "another form")
    """dbt's word for a file in `tests/fixtures/`."""
    format = key(word(("dict", "csv", "sql")), "csv", "`dict`")
    """dbt's word for the form of `rows`, or of the fixture."""


class ListedSection(FixtureSection):
    """An input of dbt's list."""

    definition = "given_input"

    input = key(NAME, "ref('users')", needed=True)
    """The input as `ref(…)` or `source(…)`; `this` is the target."""


class ExpectSection(FixtureSection):
    """What must be there after a run."""

    definition = "expect"

    columns = key(TYPES, {"n": "INT"})
    """Columns that must have exactly these types."""
    columns_exact = key(SWITCH, example=True, default=False)
    """Whether there may be no other column."""
    unchanged = key(SWITCH, example=True, unset="it may have", default=False)
    """`true`: the table has no new version."""
    row_count = key(COUNT, 1, "any")
    """How many rows the table has."""
    commits = key(COUNT, 1, "any")
    """How many commits there were."""
    metrics = key(_pairs("numbers", COUNT), {"inserted": 1}, "any")
    """Counts by name: `inserted`, `updated`, `deleted`, and those of the strategy."""
    watermark = key(WATERMARKS, "2024-06-01", "any")
    """How far the model has read now."""
    quarantine = key(node_as(refer(TableSection), TableSection), _ROWS, "any")
    """The rows that a failed gate held back."""
    checks = key(
        _pairs("passed, failed or skipped", word(("passed", "failed", "skipped"))),
        {"row_count": "passed"},
        "no gate failed",
    )
    """The results of checks, by name; `before.NAME` and `after.NAME` where both are."""
    status = key(
        word(("success", "failed", "skipped", "unchanged")), "success", "`success` or `unchanged`"
    )
    """The status of the step."""
    tolerance = key(SHARE, 0.001, "`0`")
    """How far FLOAT and DOUBLE values may differ, relative to the greater one."""


class ErrorSection(TestedSection):
    """The error with which a step must fail."""

    definition = "error"

    code = key(NAME, "duplicate-keys", needed=True)
    """The code of the error."""
    contains = key(LINE, "id=1", "anything")
    """What its message holds."""


class HistorySection(TestedSection):
    """An earlier success."""

    partition = key(LINE, "2024-06-01", "required with partitions, refused without")
    """Its partition."""
    rows = key(COUNT, 10, needed=True)
    """How many rows it wrote."""
    executed_at = key(TIME, "2024-06-01 12:00:00")
    """When it was."""


class StateSection(TestedSection):
    """What is on record."""

    watermark = key(WATERMARKS, "2024-06-01", "the greatest time of the target's rows")
    """How far the model has read; `{input.column: value}` with several."""
    history = key(nodes("successes", {"type": "array"}), [{"rows": 10}])
    """Earlier successes as `{partition, rows, executed_at}`."""


TABLES: PartKind[Mapping[str, YamlNode]] = _part(
    lambda section, name: _named_nodes(section, name, "tables"),
    {},
    {"type": "object", "additionalProperties": refer(TableSection)},
)


class GivenSection(TestedSection):
    """What there is before a run."""

    definition = "given"
    instead: ClassVar[Plain] = {"type": "array", "items": refer(ListedSection)}

    inputs = key(TABLES, {})
    """A [table](#a-table) foreverything that the model reads, by its name in the SQL."""
    slices = key(TABLES, {"orders/day=1": {"rows": [{"id": 1}]}})
    """For an entity of slices: a [table](#a-table) for each that is delivered for this run, by its
    path in bronze.
    """
    target = key(node_as(refer(TableSection), TableSection), _ROWS, "there is no table")
    """The rows of the model's own table before the step."""
    state = key(subsection(StateSection), {"watermark": "2024-06-01"}, "nothing")
    """[What is on record](#what-is-on-record)."""


_GIVEN = node_as(refer(GivenSection), GivenSection, ListedSection)
_EXPECT = node_as({"anyOf": [refer(ExpectSection), _OBJECTS]}, ExpectSection)
_ERROR = node_as({"anyOf": [TEXT.schema, refer(ErrorSection)]}, ErrorSection)


class RunSection(TestedSection):
    """One of several runs; what it leaves out it has of its test."""

    definition = "run"

    given = key(_GIVEN, {"inputs": {}}, "what the run before it left")
    """What is there in addition before this run."""
    expect = key(_EXPECT, _COUNTED, "nothing")
    """What there must be after this run."""
    expect_error = key(_ERROR, "duplicate-keys", "`expect`")
    """The code with which the step must fail, or a [mapping](#an-expected-error)."""
    as_of = key(
        TIME, "2024-06-01 12:00:00", "the end of what is tested, and not before its versions"
    )
    """The run timestamp."""
    partition = key(LINE, "2024-06-01", "required with partitions, refused without")
    """The partition to make."""
    from_ = key(LINE, "2024-06-01", "`partition`")
    """The first of several partitions to make."""
    to = key(LINE, "2024-06-02", "`partition`")
    """The last one; it belongs to them."""
    full_refresh = key(SWITCH, example=True, default=False)
    """Whether the table is rebuilt."""
    on_failure = key(word(tuple(OnFailure)), "block", "what the model says")
    """What a failed gate does."""


class MacrosSection(TestedSection):
    """dbt's word for what macros say."""

    is_incremental = key(SWITCH, example=False)
    """Whether there is a target."""


class OverridesSection(TestedSection):
    """dbt's word for what a test changes."""

    vars = key(_pairs("values", LINE), {"days": "3"}, "those of the project")
    """Values for `var()`."""
    macros = key(subsection(MacrosSection), {"is_incremental": False})
    """What macros say."""


class ConfigSection(TestedSection):
    """dbt's word for the settings of a test."""

    tags = key(TEXTS, ["quick"])
    """Words by which it is selected."""
    meta = key(node_as(OBJECT), {"owner": "shop"})
    """Your own metadata."""
    enabled = key(SWITCH, example=False, default=True)
    """`false` leaves the test out."""


def _plain(inner: type[S]) -> PartKind[S | None]:
    return replace(subsection(inner), inner=None, schema=OBJECT)


class NamedSection(TestedSection):
    """What a test is called."""

    name = key(NAME, "newer_email_wins", needed=True)
    """What it is called, once per model."""
    model = key(NAME, "m", needed=True)
    """The model, by its name or its table."""
    description = key(LINE, "The newest email counts.")
    """What it shows."""
    tags = key(TEXTS, ["quick"])
    """`penstock test --select tag:quick` finds it by them, too."""


class UnitTestSection(RunSection, NamedSection):
    """A unit test."""

    definition = "test"

    given = key(_GIVEN, {"inputs": {}}, "nothing")
    """[What there is before](#what-is-given)."""
    expect = key(_EXPECT, _COUNTED, "`expect_error`; exactly one of the two")
    """[What there must be afterwards](#what-is-expected)."""
    runs = key(
        nodes("runs", {"type": "array", "items": refer(RunSection)}, RunSection),
        [{"expect": _COUNTED}],
        "one",
    )
    """[Several runs](#a-run), one after the other."""
    version = key(replace(COUNT, schema=whole(1).schema), 1, "the one for the date")
    """The version of the model to test."""
    vars = key(_pairs("values", LINE), {"days": "3"}, "those of the project")
    """Values for `var()`."""
    key_ = key(TEXTS, ["n"], "the model's key")
    """The columns that pair rows when they are shown."""
    overrides = key(_plain(OverridesSection), {"vars": {"days": "3"}})
    """dbt's word: `vars`, and `macros: {is_incremental: false}`, which is a run without a
    target.
    """
    config = key(_plain(ConfigSection), {"tags": ["quick"]})
    """dbt's word: `tags`, `meta`, and `enabled: false`, which leaves the test out."""


class TestFileSection(TestedSection):
    """A file of unit tests."""

    unit_tests = key(
        nodes("unit tests", {"type": "array", "items": refer(UnitTestSection)}, UnitTestSection),
        [{"name": "t", "model": "m", "expect": _COUNTED}],
    )
    """The tests of this file."""
    version = key(COUNT, 2)
    """The version of dbt's format; it says nothing here."""
