"""The use case `diff --data`: compare a table's rows with those of another version or target."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from penstock.app.read_requests import DataDiffRequest
from penstock.app.services.services import Services, named_model
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import TableError, UsageError
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.statement import Row
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.plan.table_columns import version_schema_diff
from penstock.project.files.values import did_you_mean, some_of

BEFORE, AFTER = "penstock_before", "penstock_after"
SAMPLES = 3
"""How many rows of each kind are shown at most."""
_LONGEST = 200
_UNORDERED = re.compile(r"\b(map<|variant|geometry|geography)")
"""Types whose values Spark cannot compare."""


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A value of the row with a key in both tables, as text; None is NULL."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ChangedColumn:
    """A column that differs in some rows with the same key."""

    column: str
    rows: int
    samples: tuple[ChangedValue, ...] = ()


@dataclass(frozen=True, slots=True)
class DataDiff(ShownInNotebooks):
    """The rows of a table against those of another version, or of another target's table.

    Without a `key`, whole rows are compared: then no row is `changed`. Rows with the same key are
    compared one by one; `repeated` counts the rows beyond the first of each key. `schema` are lines
    such as `+ events BIGINT`, `not_compared` columns of types that have no order, such as MAP.
    """

    _rows = "columns"
    _columns = "column rows"
    _lines = "schema"

    model: str
    before: str
    after: str
    key: tuple[str, ...] = ()
    same: int = 0
    changed: int = 0
    added: int = 0
    removed: int = 0
    repeated: int = 0
    columns: tuple[ChangedColumn, ...] = ()
    added_keys: tuple[str, ...] = ()
    removed_keys: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()

    @property
    def rows_before(self) -> int:
        """How many rows the table had."""
        return self.same + self.changed + self.removed

    @property
    def rows_after(self) -> int:
        """How many rows it has."""
        return self.same + self.changed + self.added


@dataclass(frozen=True, slots=True)
class _Rows:
    """One version of a table, and what it is called."""

    uri: str
    version: int
    label: str


def data_diff(services: Services, request: DataDiffRequest) -> DataDiff:
    """Compare a model's table with an earlier version, or with that of another target.

    Both are read in one query. Raises `unknown-model`, `unknown-version`, `nothing-before`,
    `not-built-yet`, `unknown-column` and `nothing-to-compare`.
    """
    model = named_model(services, request.model)
    after = _rows_now(services, model)
    before = _rows_before(services, model, request.from_, after)
    name = InputName(InputKind.MODEL, model.name)
    sides = ((BEFORE, before), (AFTER, after))
    relations = [Relation(name, view, DeltaRead(r.uri, r.version)) for view, r in sides]
    with services.engine.session(model.name, model.where) as session:
        schemas = session.bind(relations)
        compared = compare(model, schemas[BEFORE], schemas[AFTER], request.key)
        found = session.rows(compared.sql)
    schema = version_schema_diff(schemas[BEFORE], schemas[AFTER])
    return compared.diff(model.name, (before.label, after.label), found, schema)


def _rows_now(services: Services, model: Model) -> _Rows:
    uri, target = services.project.uri_of(model.table), services.project.target.name
    if model.is_view:
        hint = f"penstock diff {model.name} compares its query"
        sentence = f"{model.name} has no table, so it has no rows of its own"
        raise UsageError("nothing-to-compare", sentence, where=model.where, hint=hint)
    head = services.log.head(uri)
    if head is None:
        sentence = f"{model.name} has no table at {uri}"
        hint = f"penstock {model.strategy.command} --target {target} --select {model.name}"
        raise TableError("not-built-yet", sentence, where=model.where, hint=hint)
    return _Rows(uri, head.version, f"version {head.version} in target {target}")


def _rows_before(services: Services, model: Model, source: str, after: _Rows) -> _Rows:
    """Return what `--from` names: a target, a version, a step; "" is before the last step."""
    if source.isdecimal() and str(int(source)) == source and int(source) <= after.version:
        return _Rows(after.uri, int(source), f"version {source}")
    steps = services.reading.records.steps_of(model.name)
    made = [
        (step.intent.step, step.outcome.version)
        for step in steps
        if step.outcome is not None and step.outcome.version is not None
    ]
    if source:
        found = [each for each in made if each[0].startswith(source)]
        if not found:
            return _rows_there(services, model, source)
        if len(found) > 1:
            raise _unknown(model, source, f"{len(found)} steps begin so")
        step, version = found[0]
        return _Rows(after.uri, version, f"version {version} (step {step})")
    if not made or made[-1][1] == 0:
        sentence = f"{model.table} has no version before its last step"
        hint = "--from VERSION or --from TARGET names what to compare with"
        raise TableError("nothing-before", sentence, where=model.where, hint=hint)
    step, version = made[-1]
    return _Rows(after.uri, version - 1, f"version {version - 1} (before step {step})")


def _rows_there(services: Services, model: Model, target: str) -> _Rows:
    try:
        other = services.target(target)
    except UsageError as error:
        if error.code != "unknown-target":
            raise
        raise _unknown(model, target, "there is no such target, version or step") from error
    return _rows_now(other, named_model(other, model.name))


def _unknown(model: Model, source: str, why: str) -> UsageError:
    hint = f"penstock history {model.name} --verbose shows versions and steps"
    return UsageError("unknown-version", f"--from {source}: {why}", where=model.where, hint=hint)


def compare(model: Model, before: Schema, after: Schema, key: Sequence[str] = ()) -> RowComparison:
    """Return how to compare two tables: by these columns, else by the model's keys if both have it.

    Raises `unknown-column` for a column of `key`, and `nothing-to-compare` if no column is in both.
    """
    both = [(b, a) for b in before.columns if (a := after.find(b.name)) is not None]
    shared = [(b, a) for b, a in both if not any(_UNORDERED.search(c.type) for c in (b, a))]
    names = {a.name.lower(): (b, a) for b, a in shared}
    unknown = [name for name in key if name.lower() not in names]
    if unknown or not shared:
        known = [a.name for _, a in shared]
        code = "unknown-column" if unknown else "nothing-to-compare"
        sentence = f"--key: the tables share no column {unknown[0]!r}" if unknown else ""
        hint = did_you_mean(unknown[0], known) if unknown and known else None
        raise UsageError(
            code,
            sentence or "the tables share no column that can be compared",
            where=model.where,
            hint=hint or (f"they share: {some_of(known)}" if known else "compare other versions"),
        )
    if not key:
        own = model.history.columns.valid_from if model.history is not None else ""
        key = [*model.strategy.keys, *filter(None, [own])] if model.strategy.keys else []
        key = key if all(name.lower() in names for name in key) else []
    keys = [names[name.lower()] for name in dict.fromkeys(key)]
    values = [pair for pair in shared if pair not in keys] if keys else []
    left_out = tuple(f"{a.name} {a.type.upper()}" for b, a in both if (b, a) not in shared)
    return RowComparison(tuple(keys or shared), tuple(values), bool(keys), left_out)


Pair = tuple[Column, Column]
"""A column of the table before, and the same one after."""


@dataclass(frozen=True, slots=True)
class RowComparison:
    """The columns of two tables that find each row's counterpart, and those that may differ."""

    keys: tuple[Pair, ...]
    values: tuple[Pair, ...]
    is_keyed: bool
    not_compared: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The query: a row for each kind of row and each of `SAMPLES` groups of keys.

        Rows with the same key are numbered, so that the query joins each row at most once.
        """
        keys, values = range(len(self.keys)), range(len(self.values))
        joined = " AND ".join([*(f"b.k{i} <=> a.k{i}" for i in keys), "b.n = a.n"])
        differs = [f"NOT (b.v{i} <=> a.v{i})" for i in values]
        changed = f"WHEN {' OR '.join(differs)} THEN 'changed' " if differs else ""
        shown = ", ".join(f"coalesce({_text(f'coalesce(b.k{i}, a.k{i})')}, 'NULL')" for i in keys)
        flags = "".join(f", b.v{i} bv{i}, a.v{i} av{i}, {differs[i]} d{i}" for i in values)
        counts = "".join(
            f", count_if(kind = 'changed' AND d{i}) d{i}, min(CASE WHEN kind = 'changed' AND d{i} "
            f"THEN array(shown_key, {_text(f'bv{i}')}, {_text(f'av{i}')}) END) s{i}"
            for i in values
        )
        samples = ", ".join(f"s{i}" for i in values) or "CAST(NULL AS STRING)"
        numbers = ", ".join(f"d{i}" for i in values) or "0"
        return (
            f"WITH b AS ({self._side(BEFORE, 0)}), a AS ({self._side(AFTER, 1)}), "
            "pairs AS (SELECT CASE WHEN b.n IS NULL THEN 'added' WHEN a.n IS NULL THEN 'removed' "
            f"{changed}ELSE 'same' END kind, coalesce(b.n, a.n) n, "
            f"left(concat_ws(', ', {shown}), {_LONGEST}) shown_key{flags} "
            f"FROM b FULL OUTER JOIN a ON {joined}), "
            f"found AS (SELECT kind, pmod(xxhash64(shown_key), {SAMPLES}) part, count(*) rows, "
            f"count_if(n > 1) repeated, min(shown_key) shown_key{counts} "
            "FROM pairs GROUP BY kind, part) "
            f"SELECT kind, rows, repeated, shown_key, to_json(array({numbers})) numbers, "
            f"to_json(array({samples})) samples FROM found ORDER BY kind, shown_key"
        )

    def _side(self, view: str, side: int) -> str:
        """Return the query of one table: columns k0, k1, … and v0, v1, …, and a row's number."""
        keys = [_column(pair, side) for pair in self.keys]
        values = [_column(pair, side) for pair in self.values]
        named = [f"{sql} k{i}" for i, sql in enumerate(keys)]
        named += [f"{sql} v{i}" for i, sql in enumerate(values)]
        order = f"xxhash64({', '.join((*keys, *values))})"
        number = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {order}) n"
        return f"SELECT {', '.join((*named, number))} FROM {view}"

    def diff(
        self, model: str, labels: tuple[str, str], rows: Iterable[Row], schema: tuple[str, ...]
    ) -> DataDiff:
        """Return the report of the query's rows."""
        found = [*rows]
        count = {kind: sum(cast("int", r["rows"]) for r in _of(found, kind)) for kind in _KINDS}
        keys = {kind: tuple(str(row["shown_key"]) for row in _of(found, kind)) for kind in _KINDS}
        before, after = labels
        return DataDiff(
            model=model,
            before=before,
            after=after,
            key=tuple(after.name for _, after in self.keys) if self.is_keyed else (),
            same=count["same"],
            changed=count["changed"],
            added=count["added"],
            removed=count["removed"],
            repeated=sum(cast("int", row["repeated"]) for row in found) if self.is_keyed else 0,
            columns=tuple(self._columns([*_of(found, "changed")])),
            added_keys=keys["added"],
            removed_keys=keys["removed"],
            schema=schema,
            not_compared=self.not_compared,
        )

    def _columns(self, changed: Sequence[Row]) -> Iterator[ChangedColumn]:
        numbers = [json.loads(str(row["numbers"])) for row in changed]
        samples = [json.loads(str(row["samples"])) for row in changed]
        for i, (_, after) in enumerate(self.values):
            if total := sum(each[i] for each in numbers):
                shown = (ChangedValue(*each[i]) for each in samples if each[i] is not None)
                yield ChangedColumn(after.name, total, tuple(shown))


_KINDS = ("same", "changed", "added", "removed")


def _of(rows: Iterable[Mapping[str, object]], kind: str) -> Iterator[Row]:
    return (cast("Row", row) for row in rows if row["kind"] == kind)


def _column(pair: Pair, side: int) -> str:
    """Return one column; as text if its type differs between the tables."""
    column, types = quoted(pair[side].name), {each.type for each in pair}
    if "binary" in types:
        return f"hex({column})" if types == {"binary"} else f"CAST({column} AS STRING)"
    return column if len(types) == 1 else f"CAST({column} AS STRING)"


def _text(sql: str) -> str:
    return f"left(CAST({sql} AS STRING), {_LONGEST})"
