"""The strategy `merge`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from penstock.core import strategy as port
from penstock.core.columns.schema import Schema
from penstock.core.columns.types import parse_type, scalars
from penstock.core.errors import SchemaError
from penstock.core.names import quoted
from penstock.core.statement import QUERY_VIEW, TARGET_VIEW, Commit, Passing, Row, Rule, Stage, Work
from penstock.strategies import build as pieces
from penstock.strategies.build import listed
from penstock.strategies.merge_options import MergeOptions
from penstock.strategies.values import equals

SOURCE_VIEW = "penstock_source"
STAGE_VIEW = "penstock_stage"
_CHANGES_VIEW = "penstock_changes"
GONE_VIEW = "penstock_gone"
_COPIES = "_ps_copies"
_IS_NEW = "_ps_is_new"


@dataclass(frozen=True, slots=True)
class Merge(port.Strategy):
    """Rows whose key exists are updated, others inserted; rows gone from the query stay.

    `order_by` chooses between rows with the same key (`on_duplicate: latest`); if it is empty, such
    rows are an error. `match_null_keys` compares keys null-safe instead of refusing NULL.
    """

    keys: tuple[str, ...] = field()  # else what the port answers would be its default
    window: port.WindowSettings | None = None
    order_by: tuple[str, ...] = ()
    match_null_keys: bool = False
    newest: str = ""
    options: MergeOptions = MergeOptions()
    replace_by: str = ""

    name = "merge"
    settings = (
        port.STORED
        | port.WINDOWED
        | {"unique_key", "null_keys", "on_duplicate", "order_by", "incremental_predicates"}
        | {"merge_update_columns", "merge_exclude_columns", "replace_by"}
    )
    writing = port.Writing.MERGED
    keeps_rows = True
    is_incremental = True
    hides_rows = True
    dbt = ("incremental", "merge")

    @classmethod
    def read(cls, settings: port.GivenSettings) -> Self:
        """Read keys, window, and the order for rows with the same key."""
        keys, order = settings.texts("unique_key"), settings.texts("order_by")
        if not keys:
            hint = "unique_key=['id']"
            settings.report("materialized", "missing-key", "merge needs unique_key", hint)
        latest = settings.text("on_duplicate") == "latest"
        if latest and not order:
            sentence = "on_duplicate: latest needs order_by"
            settings.report("on_duplicate", "missing-key", sentence, "order_by='updated_at'")
        if order and not latest:
            sentence = "order_by has no effect without on_duplicate: latest"
            settings.warn("order_by", "option-without-effect", sentence)
        match, newest = settings.text("null_keys") == "match", settings.text("newest_by")
        options = MergeOptions.read(settings)
        by = settings.text("replace_by")
        return cls(keys, settings.window(), order if latest else (), match, newest, options, by)

    def fingerprint(self, layout: port.Layout) -> Mapping[str, object]:
        """Return all its settings: each affects the values of rows."""
        del layout
        return {
            "keys": list(self.keys),
            "window": self.window and self.window.fingerprint,
            "order_by": list(self.order_by),
            "match_null_keys": self.match_null_keys,
            **({"newest": self.newest} if self.newest else {}),
            **self.options.fingerprint,
            **({"replace_by": self.replace_by} if self.replace_by else {}),
        }

    def work(self, build: port.Build) -> Work:
        """Update rows whose key exists and whose values differ, insert the rest; others stay.

        The query is evaluated once, and the MERGE gets only new or changed rows, so no file without
        a changed row is rewritten. If all rows are new, they are appended; if all are changed,
        Spark can run the MERGE without shuffling the table.
        """
        first = build.table is None
        view = SOURCE_VIEW if first else STAGE_VIEW
        rows = _shaped_rows(build, self, view)
        source = _source_stage(build, self)
        if self.options.replaces and not first:
            return _replace_keys(build, self, source)
        if build.reruns and not first:
            return Work(
                (source, _changes(build, self), _missing_keys(build, self)),
                lambda seen: _rerun_commit(build, self, seen),
                rows=lambda _: rows,
                after=_table_after(build, self),
            )
        return Work(
            (source,) if first else (source, _changes(build, self)),
            lambda seen: pieces.create_from(build, view) if first else _merge(build, self, seen),
            rows=lambda _: rows,
            fed_by=view if first else "",  # what is staged is cut off from its query already
            after=_table_after(build, self),
        )


def _shaped_rows(build: port.Build, strategy: Merge, view: str) -> str:
    """Return the rows of a view in table form; columns that are not updated keep their values."""
    table = build.table or Schema()
    updated = set(strategy.options.updated_columns(build))
    updated = updated if build.table else set(build.query.names)
    gone = tuple(name for name in table.names if build.query.find(name) is None)
    values = []
    for name in build.query.names:
        stored = f"t.{quoted(name)}" if table.find(name) else "NULL"
        is_new, value = f"s.{quoted(_IS_NEW)}", f"s.{quoted(name)}"
        kept = f"CASE WHEN {is_new} THEN {value} ELSE {stored} END AS {quoted(name)}"
        values.append(value if name in updated else kept)
    columns = ", ".join(values)
    if not gone and len(updated) == len(values):
        return f"SELECT {columns} FROM {quoted(view)} s"
    more = f", {listed(gone, 't.')}" if gone else ""
    return (
        f"SELECT {columns}{more} FROM {quoted(view)} s "
        f"LEFT JOIN {quoted(TARGET_VIEW)} t ON {_stored_match(build, strategy, 't', 's')}"
    )


def _source_stage(build: port.Build, strategy: Merge) -> Stage:
    keys, columns = listed(strategy.keys), listed(build.query.names)
    copies = f"count(*) OVER (PARTITION BY {keys}) AS {quoted(_COPIES)}"
    rows = f"SELECT {columns}, {copies} FROM {quoted(QUERY_VIEW)}"
    if strategy.options.replaces:
        rows = f"SELECT {columns}, 1 AS {quoted(_COPIES)} FROM {quoted(QUERY_VIEW)}"
    elif strategy.newest and strategy.order_by:
        first = f"rank() OVER (PARTITION BY {keys} ORDER BY {quoted(strategy.newest)} DESC)"
        known = f"(SELECT DISTINCT {columns} FROM {quoted(QUERY_VIEW)})"
        newest = f"(SELECT *, {first} AS `_ps_rank` FROM {known}) WHERE `_ps_rank` = 1"
        rows = f"SELECT {columns}, {copies} FROM {newest}"
    elif strategy.order_by:
        latest = ", ".join(f"{quoted(name)} DESC NULLS LAST" for name in strategy.order_by)
        rank = f"row_number() OVER (PARTITION BY {keys} ORDER BY {latest}) AS `_ps_rank`"
        rows = (
            f"SELECT {columns}, 1 AS {quoted(_COPIES)} "
            f"FROM (SELECT *, {rank} FROM {quoted(QUERY_VIEW)}) WHERE `_ps_rank` = 1"
        )
    lost = "".join(
        f", {sql} AS `{name}`" for name, sql in pieces.lost_counts(pieces.texts_of(build)).items()
    )
    look = (
        f"SELECT count(*) AS `rows`, "
        f"count_if({quoted(_COPIES)} > 1) AS `copied`, "
        f"count_if({_has_null_key(strategy)}) AS `null_keys`{lost} FROM {quoted(SOURCE_VIEW)}"
    )
    return Stage(SOURCE_VIEW, rows, look, _key_rules(build, strategy))


def _key_rules(build: port.Build, strategy: Merge) -> tuple[Rule, ...]:
    name, keys = build.model.name, ", ".join(strategy.keys)
    shown, source = pieces.shown_key(strategy.keys), quoted(SOURCE_VIEW)
    return (
        Rule(
            "copied",
            "duplicate-keys",
            f"{{count}} keys ({keys}) occur more than once in the query of {name!r} "
            "(e.g. {samples})",
            "aggregate or filter in the SELECT, or set on_duplicate='latest' with order_by",
            f"SELECT concat({shown}, ' ×', max({quoted(_COPIES)})) FROM {source} "
            f"WHERE {quoted(_COPIES)} > 1 GROUP BY {listed(strategy.keys)} ORDER BY 1 LIMIT 5",
            f"SELECT count(DISTINCT struct({listed(strategy.keys)})) AS n FROM {source} "
            f"WHERE {quoted(_COPIES)} > 1",
        ),
        Rule(
            "null_keys",
            "null-key",
            f"{{count}} rows in the query of {name!r} have NULL in their key ({keys}) "
            "(e.g. {samples})",
            "filter them out, or set null_keys='match'",
            f"SELECT {shown} FROM {source} WHERE {_has_null_key(strategy)} ORDER BY 1 LIMIT 5",
        ),
        *pieces.lost_rules(pieces.texts_of(build), name, f"FROM {source} WHERE true", shown, "1"),
    )


def _changes(build: port.Build, strategy: Merge) -> Stage:
    matched = (
        f"SELECT {listed(strategy.keys, 's.')}, {_differs(build, strategy)} AS `_ps_differs` "
        f"FROM {quoted(SOURCE_VIEW)} s JOIN {quoted(TARGET_VIEW)} t "
        f"ON {_stored_match(build, strategy, 's', 't')}"
    )
    sql = (
        f"SELECT {listed(build.query.names, 's.')}, m.`_ps_differs` IS NULL AS {quoted(_IS_NEW)} "
        f"FROM {quoted(SOURCE_VIEW)} s LEFT JOIN ({matched}) m "
        f"ON {_match(strategy, 's', 'm')} WHERE coalesce(m.`_ps_differs`, true)"
    )
    is_new = quoted(_IS_NEW)
    counts = {"new": f"count_if({is_new})", "changed": f"count_if(NOT {is_new})"}
    kept = f"SELECT * FROM {quoted(_CHANGES_VIEW)}"
    return Stage(STAGE_VIEW, kept, passing=Passing(_CHANGES_VIEW, sql, counts))


def _merge(build: port.Build, strategy: Merge, row: Row) -> Commit | None:
    if not row["new"] and not row["changed"]:
        return None
    columns = build.query.names
    rows = f"SELECT {listed(columns)} FROM {quoted(STAGE_VIEW)}"
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    if not row["changed"]:
        return Commit(f"INSERT {evolution}INTO {build.target} BY NAME {rows}")
    updated = strategy.options.updated_columns(build)
    is_whole = build.evolves and len(updated) == len(columns)
    clauses = [f"WHEN MATCHED THEN UPDATE SET {'*' if is_whole else _sets(updated)}"]
    if row["new"]:
        values = "*" if build.evolves else f"({listed(columns)}) VALUES ({listed(columns, 's.')})"
        clauses.append(f"WHEN NOT MATCHED THEN INSERT {values}")
    return Commit(
        f"MERGE {evolution}INTO {build.target} t USING {pieces.sent_rows(rows, _total(row))} s "
        f"ON {_stored_match(build, strategy, 't', 's')} {' '.join(clauses)}",
        pieces.OF_STAGED,
    )


def _sets(names: tuple[str, ...]) -> str:
    return ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in names)


def _differs(build: port.Build, strategy: Merge) -> str:
    """Return the condition for a difference from the table's row: exact, NULL equals NULL."""
    keys = {key.lower() for key in strategy.keys}
    terms = []
    updated = set(strategy.options.updated_columns(build)) if build.table else set()
    compared = (c for c in build.query.columns if c.name in updated)
    for column in (c for c in compared if c.name.lower() not in keys):
        known = build.table.find(column.name) if build.table else None
        left, right = f"s.{quoted(column.name)}", f"t.{quoted(known.name if known else '')}"
        if known and "variant" in scalars(parse_type(column.type)):  # Spark cannot compare these
            terms.append(f"to_json(struct({left})) <=> to_json(struct({right}))")
        else:
            terms.append(equals(left, right, column.type, known.type if known else None))
    differs = f"NOT ({' AND '.join(terms)})" if terms else "false"
    if not strategy.newest:
        return differs
    newest = quoted(strategy.newest)
    may = f"coalesce(s.{newest} >= t.{newest}, true)"
    if build.reruns:
        may = f"({may} OR {_range_condition(build, 't')})"
    return f"{differs} AND {may}"


def _range_condition(build: port.Build, alias: str) -> str:
    """Return the condition for table rows in the range of a rerun, or of a pass's sessions."""
    column = build.model.strategy.replace_by
    if build.model.strategy.window is not None:
        column = build.model.strategy.window.time_column
    elif build.query.find(column) is None:
        sentence = f"replace_by: column {column!r} is not selected"
        hint = f"the query of {build.model.name} has {', '.join(build.query.names)}"
        raise SchemaError("column-not-selected", sentence, hint=hint)
    elif build.table is not None and build.table.find(column) is None:
        return "false"  # stored rows are of no session
    return f"({build.replaced.replace(quoted(column), f'{alias}.{quoted(column)}')})"


def _missing_keys(build: port.Build, strategy: Merge) -> Stage:
    """Return the keys in the range of a rerun that the query no longer returns."""
    found = f"SELECT 1 FROM {quoted(SOURCE_VIEW)} s WHERE {_match(strategy, 's', 't')}"
    keys = listed(strategy.keys, "t.")
    sql = (
        f"SELECT {keys} FROM {quoted(TARGET_VIEW)} t WHERE {_range_condition(build, 't')} "
        f"AND NOT EXISTS ({found})"
    )
    return Stage(GONE_VIEW, sql, f"SELECT count(*) AS `gone` FROM {quoted(GONE_VIEW)}")


def _rerun_commit(build: port.Build, strategy: Merge, row: Row) -> Commit | None:
    """Merge the current rows of a range, and delete missing keys, in one commit."""
    if not row["new"] and not row["changed"] and not row["gone"]:
        return None
    names = build.query.names
    updated = _sets(strategy.options.updated_columns(build))
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    return Commit(
        f"MERGE {evolution}INTO {build.target} t USING ({_merge_rows(build, strategy)}) s "
        f"ON {_match(strategy, 't', 's')} "
        "WHEN MATCHED AND s.`_ps_gone` THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {updated} "
        f"WHEN NOT MATCHED THEN INSERT ({listed(names)}) VALUES ({listed(names, 's.')})",
        pieces.HASH_JOIN,
    )


def _merge_rows(build: port.Build, strategy: Merge) -> str:
    """Return the input of a rerun's MERGE: new and changed rows, and missing keys."""
    keys = {key.lower() for key in strategy.keys}
    names = build.query.names
    lost = ", ".join(
        quoted(name) if name.lower() in keys else f"NULL AS {quoted(name)}" for name in names
    )
    return (
        f"SELECT {listed(names)}, false AS `_ps_gone` FROM {quoted(STAGE_VIEW)} "
        f"UNION ALL SELECT {lost}, true AS `_ps_gone` FROM {quoted(GONE_VIEW)}"
    )


def _table_after(build: port.Build, strategy: Merge) -> Callable[[Row], str] | None:
    """Return the table after the MERGE, if no column changes its type."""
    if build.table is None or not pieces.keeps_types(build.table, build.query):
        return None
    table, names, stage = build.table, build.query.names, quoted(STAGE_VIEW)
    fed = _merge_rows(build, strategy) if build.reruns else f"SELECT * FROM {stage}"
    return lambda seen: pieces.merged_rows(
        table,
        pieces.sent_rows(fed, _total(seen)),
        _stored_match(build, strategy, "t", "s"),
        {name: f"s.{quoted(name)}" for name in strategy.options.updated_columns(build)},
        (f"SELECT {listed(names)} FROM {stage} WHERE {quoted(_IS_NEW)}", build.query),
        "s.`_ps_gone`" if build.reruns else "false",
    )


def _replace_keys(build: port.Build, strategy: Merge, source: Stage) -> Work:
    """Replace all rows of the query's keys in one commit; a rerun removes missing keys, too.

    The MERGE gets each key once to delete its stored rows, and the query's rows, which match none.
    """
    names, keys = build.query.names, {key.lower() for key in strategy.keys}
    gone = (_missing_keys(build, strategy),) if build.reruns else ()
    lost = ", ".join(
        quoted(name) if name.lower() in keys else f"NULL AS {quoted(name)}" for name in names
    )
    rows = f"SELECT {listed(names)} FROM {quoted(SOURCE_VIEW)}"
    views = (SOURCE_VIEW, GONE_VIEW)[: 1 + len(gone)]
    asked = (f"SELECT {listed(strategy.keys)} FROM {quoted(view)}" for view in views)
    fed = (
        f"SELECT {listed(names)}, false AS `_ps_gone` FROM {quoted(SOURCE_VIEW)} UNION ALL "
        f"SELECT {lost}, true AS `_ps_gone` FROM (SELECT DISTINCT * FROM "
        f"({' UNION ALL '.join(asked)}))"
    )
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    commit = Commit(
        f"MERGE {evolution}INTO {build.target} t USING ({fed}) s "
        f"ON s.`_ps_gone` AND {_stored_match(build, strategy, 't', 's')} "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND NOT s.`_ps_gone` "
        f"THEN INSERT ({listed(names)}) VALUES ({listed(names, 's.')})",
        pieces.HASH_JOIN,
    )
    return Work(
        (source, *gone),
        lambda seen: commit if seen["rows"] or seen.get("gone") else None,
        rows=lambda _: rows,
    )


def _total(row: Row) -> int:
    """Return the number of rows in the MERGE's input."""
    return sum(int(row.get(name) or 0) for name in ("new", "changed", "gone"))


def _match(strategy: Merge, left: str, right: str) -> str:
    return pieces.same_key(strategy.keys, left, right, matches_null=strategy.match_null_keys)


def _stored_match(build: port.Build, strategy: Merge, left: str, right: str) -> str:
    """Return the condition for a stored row `t` of the same key that the step reads."""
    return " AND ".join((_match(strategy, left, right), *strategy.options.conditions(build)))


def _has_null_key(strategy: Merge) -> str:
    if strategy.match_null_keys:
        return "false"
    return " OR ".join(f"{quoted(key)} IS NULL" for key in strategy.keys)
