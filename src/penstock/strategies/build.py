"""SQL fragments that several strategies share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.core.columns import types
from penstock.core.columns.schema import Schema
from penstock.core.columns.types import parse_type
from penstock.core.names import literal, quoted
from penstock.core.statement import (
    FEW_ROWS,
    QUERY_VIEW,
    REPLACED_ROWS,
    TARGET_VIEW,
    Commit,
    Feed,
    Rule,
    Stage,
    Work,
)
from penstock.core.strategy import DELETION_VECTORS, Build, Buildable, Layout, OnSchemaChange
from penstock.strategies.values import cast, null

CODE = "empty-partition-value"
_TEXTS = ("string", "varchar", "char", "binary")


def partition_texts(partition_by: Iterable[str], query: Schema) -> tuple[str, ...]:
    """Return the text columns of a query that partition its table."""
    found = (query.find(name) for name in partition_by)
    return tuple(c.name for c in found if c is not None and c.type.startswith(_TEXTS))


def is_lost(value: str) -> str:
    """Return the condition for a text value that would become NULL as a partition value.

    >>> is_lost("`city`")
    "coalesce(CAST(`city` AS STRING) IN ('', '__HIVE_DEFAULT_PARTITION__'), false)"
    """
    return f"coalesce(CAST({value} AS STRING) IN ('', '__HIVE_DEFAULT_PARTITION__'), false)"


def any_lost(names: Iterable[str]) -> str:
    """Return the condition for a row with such a text in any of some columns."""
    return " OR ".join(is_lost(quoted(name)) for name in names) or "false"


def lost_counts(names: Iterable[str]) -> dict[str, str]:
    """Return the aggregates, by name, that count the rows which break `lost_rules`."""
    return {f"lost_{n}": f"count_if({is_lost(quoted(name))})" for n, name in enumerate(names)}


def lost_rules(
    names: Iterable[str], model: str, source: str, shown_key: str = "", by: str = ""
) -> tuple[Rule, ...]:
    """Return a rule for each column; `kept` is FROM and WHERE for samples, which show the key."""
    rules = []
    for number, name in enumerate(names):
        sentence, samples = _lost_message(name, model, "{count} rows"), ""
        if shown_key:
            sentence += " (e.g. {samples})"
            value = f"{literal(f' {name}=')}, '\\'', CAST({quoted(name)} AS STRING), '\\''"
            samples = (
                f"SELECT concat({shown_key}, {value}) {source} AND {is_lost(quoted(name))} "
                f"ORDER BY {by} LIMIT 5"
            )
        # The text that is mostly meant is the empty one.
        hint = f"select NULL or another text in its place: coalesce(nullif({name}, ''), 'none')"
        rules.append(Rule(f"lost_{number}", CODE, sentence, hint, samples))
    return tuple(rules)


def _lost_message(name: str, model: str, rows: str) -> str:
    return (
        f"{rows} of {model!r} hold a text in {name!r} that Delta would store as NULL, "
        "because the column partitions the table"
    )


ROWS_VIEW = "penstock_rows"
"""The view of a feed: the rows of a step in stored form."""
_LOST_VIEW = "penstock_lost"
ANSI = {"spark.sql.ansi.enabled": "true", "spark.sql.storeAssignmentPolicy": "ANSI"}
# One side is small beside the other: hashing it spares sorting the large one (decision 6).
HASH_JOIN = {"spark.sql.join.preferSortMergeJoin": "false"}
# What was staged is cut off from its query already: Delta need not keep it once more.
OF_STAGED = {"spark.databricks.delta.merge.materializeSource": "none", **HASH_JOIN}


def shown_key(keys: tuple[str, ...]) -> str:
    """Return SQL that formats a row's key for messages: `id=3, land=NULL`."""
    pairs = [f"{literal(f'{k}=')}, coalesce(CAST({quoted(k)} AS STRING), 'NULL')" for k in keys]
    return "concat(" + ", ', ', ".join(pairs) + ")"


def same_key(keys: tuple[str, ...], left: str, right: str, *, matches_null: bool) -> str:
    """Return the condition that two rows have the same key."""
    equals = "<=>" if matches_null else "="
    return " AND ".join(f"{left}.{quoted(key)} {equals} {right}.{quoted(key)}" for key in keys)


def texts_of(build: Build) -> tuple[str, ...]:
    """Return the query's text columns that partition the table."""
    by = build.model.layout.partition_by if build.partition_by is None else build.partition_by
    return partition_texts(by, build.query) if by else ()


def create_from(build: Build, source: str = "") -> Commit:
    """Replace the table by the rows of a view."""
    return create(build, f"SELECT {select_list(build)} FROM {quoted(source or build.source)}")


def insert(
    build: Build, how: str = "INTO", confs: Mapping[str, str] | None = None, *, anew: bool = False
) -> Work:
    """Insert the query's rows; create the table if it does not exist, or with `anew`."""
    again = count_texts(build)
    rows = f"SELECT {select_list(build)} FROM {quoted(build.source)}"
    if anew or build.table is None:
        statement = create(build, rows)
    else:
        evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
        statement = Commit(f"INSERT {evolution}{how} {build.target} BY NAME {rows}", confs or {})
    return Work((), lambda _: statement, again=again)


def replace_range(build: Build) -> Work:
    """Replace the rows in `build.replaced` by those of the query, in one commit."""
    if build.table is None:
        return Work.just(create_from(build))
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    return Work.just(
        Commit(
            f"INSERT {evolution}INTO {build.target} BY NAME REPLACE WHERE {build.replaced} "
            f"SELECT {select_list(build)} FROM {quoted(build.source)}"
        )
    )


def select_list(build: Build) -> str:
    """Return the query's columns; a text that would become NULL fails the statement."""
    texts = set(texts_of(build))
    return ", ".join(
        f"{guarded_text(quoted(name), name, build.model.name)} AS {quoted(name)}"
        if name in texts
        else quoted(name)
        for name in build.query.names
    )


def guarded_text(value: str, name: str, model: str) -> str:
    """Return the value of a text column that partitions a table, or SQL that fails."""
    failed = raise_sql(CODE, literal(_lost_message(name, model, "rows")))
    return f"CASE WHEN {is_lost(value)} THEN {failed} ELSE {value} END"


def raise_sql(code: str, message: str) -> str:
    """Return SQL that fails; only its message has the mark, not the SQL that Spark quotes."""
    return f"raise_error(concat('penstock:', {literal(f'{code}: ')}, {message}))"


def count_texts(build: Build) -> Work | None:
    """Return the work that counts the rows for which `select_list` failed; None if it cannot."""
    if not (names := texts_of(build)):
        return None
    counts = ", ".join(f"{sql} AS `{name}`" for name, sql in lost_counts(names).items())
    stage = Stage(
        _LOST_VIEW,
        f"SELECT {listed(names)} FROM {quoted(QUERY_VIEW)} WHERE {any_lost(names)}",
        f"SELECT {counts} FROM {quoted(_LOST_VIEW)}",
        lost_rules(names, build.model.name, ""),
    )
    return Work((stage,), lambda _: None)


def with_feed(build: Build) -> Build:
    """Return the build with its rows in the view of a feed."""
    return replace(build, source=ROWS_VIEW)


def feed_of(build: Build) -> Feed:
    """Return the query's rows as the table stores them, including columns that the query lacks."""
    rows = casts(build.query, new_schema(build))
    return Feed(ROWS_VIEW, f"SELECT {rows} FROM {quoted(QUERY_VIEW)}", confs=ANSI)


def new_schema(build: Build) -> Schema:
    """Return the columns of the table after the commit, with types for old and new values.

    An entity that replaces its table may change a column's type.
    """
    known = build.table
    if known is None:
        return build.query
    grows = build.model.on_schema_change is not OnSchemaChange.IGNORE
    columns = []
    for column in known.columns:
        given = build.query.find(column.name)
        both = given and types.merged(parse_type(column.type), parse_type(given.type), grow=grows)
        kind = str(both) if both else given.type if given else column.type
        columns.append(replace(column, type=kind))
    return Schema((*columns, *(c for c in build.query.columns if known.find(c.name) is None)))


def casts(have: Schema, want: Schema) -> str:
    """Return the wanted columns for rows with the given ones: cast, or NULL if missing.

    >>> from penstock.core.columns.schema import Column
    >>> casts(Schema((Column("A", "int"),)), Schema((Column("a", "bigint"), Column("b", "date"))))
    'CAST(`A` AS bigint) AS `a`, CAST(NULL AS date) AS `b`'
    """
    columns = []
    for column in want.columns:
        known, kind = have.find(column.name), parse_type(column.type)
        name = quoted(known.name) if known else ""
        value = cast(name, parse_type(known.type), kind) if known else null(kind)
        columns.append(
            value if value == quoted(column.name) else f"{value} AS {quoted(column.name)}"
        )
    return ", ".join(columns)


def create(build: Build, rows: str, properties: Mapping[str, str] | None = None) -> Commit:
    """One atomic replace: readers see the old rows or the new ones, never neither."""
    model = build.model
    clauses = table_clauses(model, model.layout, build.location, properties)
    before = {} if build.rows_before is None else {REPLACED_ROWS: build.rows_before}
    sql = f"CREATE OR REPLACE TABLE {build.target} USING delta {clauses} AS {rows}"
    return Commit(sql, metrics=before)


def table_clauses(
    model: Buildable, layout: Layout, location: str, properties: Mapping[str, str] | None = None
) -> str:
    """Return the clauses of a statement that creates a table; `location` for a catalog."""
    description = model.description
    # said even where it is off: the session of somebody else may have another default
    all_properties = {DELETION_VECTORS: str(model.hides_rows).lower(), **layout.properties}
    clauses = []
    if layout.partition_by:
        clauses.append(f"PARTITIONED BY ({listed(layout.partition_by)})")
    if layout.cluster_by:
        clauses.append(f"CLUSTER BY ({listed(layout.cluster_by)})")
        all_properties["penstock.clusterBy"] = ",".join(layout.cluster_by)
    if description:
        clauses.append(f"COMMENT {literal(description)}")
    if location:
        clauses.append(f"LOCATION {literal(location)}")
    clauses.append(f"TBLPROPERTIES ({properties_sql({**all_properties, **(properties or {})})})")
    return " ".join(clauses)


def properties_sql(properties: Mapping[str, str]) -> str:
    r"""Return properties as SQL, in the order of their keys.

    >>> properties_sql({"b": "2", "a": "it's"})
    "'a' = 'it\\'s', 'b' = '2'"
    """
    return ", ".join(f"{literal(k)} = {literal(v)}" for k, v in sorted(properties.items()))


def listed(names: tuple[str, ...], prefix: str = "") -> str:
    """Return quoted names, separated by commas."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in names)


def union_rows(condition: str, stays: tuple[str, Schema], rows: tuple[str, Schema]) -> str:
    """Return the rows of a view that are `kept`, and the new rows in stored form.

    A view is given by its name and its columns.
    """
    (target, columns), (view, want) = stays, rows
    where = f" WHERE {condition}" if condition else ""
    return (
        f"SELECT {casts(columns, want)} FROM {quoted(target)}{where} "
        f"UNION ALL SELECT {casts(want, want)} FROM {quoted(view)}"
    )


def sent_rows(rows: str, number: int) -> str:
    """Return rows in parentheses; few rows are broadcast, so that the table's rows do not move."""
    hint = "/*+ BROADCAST(fed) */ " if number <= FEW_ROWS else ""
    return f"(SELECT {hint}* FROM ({rows}) fed)"


def keeps_types(table: Schema, rows: Schema) -> bool:
    """Return whether rows with the same column names change no type of the table."""
    known = ((column, table.find(column.name)) for column in rows.columns)
    return all(found is None or found.type == column.type for column, found in known)


def merged_rows(
    table: Schema,
    fed: str,
    on: str,
    updates: Mapping[str, str],
    inserted: tuple[str, Schema],
    removed: str = "false",
) -> str:
    """Return the rows of the view `penstock_target` after a MERGE of the rows of `with_feed`.

    `t` is a stored row that `on` matches with at most one row `s`; `updates` maps columns to their
    new values, unless the row is `removed`. `inserted` are the new rows, with their columns.
    """
    rows, given = inserted
    values = {name.lower(): value for name, value in updates.items()}
    names = (*table.names, *(name for name in given.names if table.find(name) is None))

    def stored(name: str) -> str:
        kept = f"t.{quoted(name)}" if table.find(name) else "NULL"
        value = values.get(name.lower())
        chosen = f"CASE WHEN s.`_ps_met` THEN {value} ELSE {kept} END" if value else kept
        return f"{chosen} AS {quoted(name)}"

    new = ", ".join(("" if given.find(n) else "NULL AS ") + quoted(n) for n in names)
    return (
        f"SELECT {', '.join(map(stored, names))} FROM {quoted(TARGET_VIEW)} t "
        f"LEFT JOIN (SELECT *, true AS `_ps_met` FROM {fed}) s ON {on} "
        f"WHERE NOT coalesce({removed}, false) UNION ALL SELECT {new} FROM ({rows})"
    )
