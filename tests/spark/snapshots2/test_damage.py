"""What somebody else did to a history table, and what must not differ: damage, types, NULL keys."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.history_story import T1, T2, T3, T4, source
from fakes.history_table import HistoryTable
from penstock.core.errors import DataError
from penstock.core.history import (
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    NewerThan,
    Retention,
    SystemColumns,
)
from penstock.core.strategy import OnSchemaChange
from penstock.strategies.history.snapshot import Snapshot

CK = Snapshot(("id",), ColumnsDiffer(("value",)))
TS = Snapshot(("id",), NewerThan("updated_at"))
EV = replace(TS, event_time=True)
HASH = Snapshot(("id",), HashDiffers(SystemColumns.with_prefix().row_hash, ("value",)))
NEW_RECORD, INVALIDATE = HardDeletes.NEW_RECORD, HardDeletes.INVALIDATE
HINT = (
    "penstock snapshot verify h shows them; remove the versions that were written "
    "outside penstock, or restore the table"
)
DAMAGED = (
    "1 keys in the table of 'h' have two current versions, or two that start together (e.g. id=1)"
)


def copied(table: HistoryTable, changed: str, where: str = "id = 1 AND _ps_is_current") -> None:
    """Insert a version of key 1 once more, with other values in some columns."""
    sets = dict(pair.split(" = ") for pair in changed.split(", ") if pair)
    columns = [row[0] for row in table.sql("DESCRIBE {t}")]
    columns = columns[: columns.index("")] if "" in columns else columns
    columns = [name for name in columns if not name.startswith("#")]
    values = ", ".join(f"{sets.get(name, name)} AS {name}" for name in dict.fromkeys(columns))
    table.sql(f"INSERT INTO {{t}} BY NAME SELECT {values} FROM {{t}} WHERE {where}")


def versions(table: HistoryTable) -> list[tuple[object, ...]]:
    """Give key, value and interval of every version."""
    return [(*v.key, v.values["value"], v.valid_from, v.valid_to) for v in table.history().versions]


@pytest.fixture(scope="module")
def doubled(spark, tmp_path_factory):
    """Give a table whose key 1 has two current versions; tables that start alike are one table.

    No refused run writes anything, so that many can be tried on it.
    """
    tables = {}

    def made(settings: Snapshot) -> HistoryTable:
        first = replace(settings, hard_deletes=HardDeletes.IGNORE, retention=None)
        if first not in tables:
            table = HistoryTable(spark, tmp_path_factory.mktemp("doubled"), first)
            table.run(T1, source("1 a 01-05", "2 b 01-06"))
            copied(table, "value = 'x', _ps_valid_from = _ps_valid_from + INTERVAL 1 DAY")
            tables[first] = table
        return replace(tables[first], settings=settings)

    return made


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("settings", "row"),
    [
        pytest.param(CK, "1 a 01-05", marks=pytest.mark.matrix),
        (CK, "1 c 01-05"),
        (HASH, "1 c 01-05"),
        (replace(CK, hard_deletes=NEW_RECORD), "2 b 01-06"),
        pytest.param(
            replace(CK, retention=Retention(keep_last=1)), "1 a 01-05", marks=pytest.mark.matrix
        ),
        pytest.param(TS, "1 c 03-05", marks=pytest.mark.matrix),
        pytest.param(EV, "1 c 03-05", marks=pytest.mark.matrix),
        (EV, "1 z 01-01"),
        (replace(EV, hard_deletes=INVALIDATE), "2 b 01-06"),
        pytest.param(
            replace(EV, retention=Retention(keep_last=1)), "1 a 01-05", marks=pytest.mark.matrix
        ),
    ],
    ids=str,
)
def test_a_key_with_two_current_versions_is_refused_and_not_multiplied(
    doubled, settings, row
) -> None:
    table = doubled(settings)
    before = versions(table)

    with pytest.raises(DataError) as caught:
        table.run(T2, source("2 b 01-06", row) if row[0] == "1" else source(row))

    assert (caught.value.code, caught.value.sentence) == ("history-broken", DAMAGED)
    assert caught.value.hint == HINT
    assert len(before) == 3
    assert versions(table) == before


@pytest.mark.parametrize(
    "settings",
    [pytest.param(CK, id="check"), pytest.param(EV, id="event_time", marks=pytest.mark.matrix)],
)
def test_the_same_version_twice_is_refused(spark, tmp_path, settings) -> None:
    table = HistoryTable(spark, tmp_path, settings)
    table.run(T1, source("1 a 01-05"))
    copied(table, "")

    with pytest.raises(DataError, match="two current versions"):
        table.run(T2, source("1 b 02-05"))


@pytest.mark.matrix
def test_retention_removes_no_version_that_it_cannot_tell_from_another(spark, tmp_path) -> None:
    table = HistoryTable(spark, tmp_path, replace(CK, retention=Retention(keep_last=3)))
    for at, value in ((T1, "a"), (T2, "b"), (T3, "c")):
        table.run(at, source(f"1 {value} 01-05"))
    copied(table, "", "value = 'a'")

    with pytest.raises(DataError, match="two that start together"):
        table.run(T4, source("1 c 01-05"))

    assert len(versions(table)) == 4


@pytest.mark.matrix
def test_a_stored_key_that_is_null_is_closed_where_the_source_may_not_hold_one(
    spark, tmp_path
) -> None:
    matching = replace(CK, match_null_keys=True)
    table = HistoryTable(spark, tmp_path, matching)
    table.run(T1, source("NULL a 01-05", "2 b 01-06"))
    table.settings = replace(CK, hard_deletes=INVALIDATE)

    metrics = table.run(T2, source("2 b 01-06"))

    assert versions(table) == [(2, "b", T1, None), (None, "a", T1, T2)]
    assert (metrics["deleted"], metrics["closed"]) == (1, 1)


def number(text: str, kind: str) -> str:
    rows = ", ".join(f"({row.replace(' ', ', ')})" for row in text.split(", "))
    return f"SELECT id, CAST(value AS {kind}) AS value FROM VALUES {rows} AS v(id, value)"


STEPS = [
    ("1 4, 2 5, 3 NULL, 4 7, 5 9", "INT", T1),
    ("1 4, 2 5, 3 NULL, 4 7", "DOUBLE", T2),  # equal in a wider type: nothing opens
    ("1 4, 2 5.5, 3 NULL, 4 7", "DOUBLE", T3),  # one changes, and the column is widened
    ("1 4, 2 5.5, 3 NULL, 4 8, 6 -0.0", "DOUBLE", dt.datetime(2024, 7, 2, tzinfo=dt.UTC)),
    ("1 4, 3 NULL, 4 8, 5 9, 6 0", "INT", T4),  # a narrower type again
    ("1 4, 3 NULL, 4 8, 5 9, 6 0", "DOUBLE", dt.datetime(2024, 8, 2, tzinfo=dt.UTC)),
]


@pytest.mark.parametrize("missing", [HardDeletes.IGNORE, NEW_RECORD])
@pytest.mark.matrix
def test_a_wider_type_makes_the_same_history_with_and_without_row_hash(
    spark, tmp_path, missing
) -> None:
    told, histories = [], []
    for name, settings in (("hash", HASH), ("plain", CK)):
        (tmp_path / name).mkdir()
        table = HistoryTable(spark, tmp_path / name, replace(settings, hard_deletes=missing))
        told.append([table.run_sql(at, number(rows, kind)) for rows, kind, at in STEPS])
        histories.append(versions(table))
        if name == "hash":
            current = "_ps_is_current AND NOT coalesce(_ps_is_deleted, false)"
            current = current if missing is NEW_RECORD else "_ps_is_current"
            hashes = table.sql(
                f"SELECT count(*), count(DISTINCT _ps_row_hash) FROM {{t}} WHERE {current}"
            )

    assert histories[0] == histories[1]
    assert told[0] == told[1]
    assert told[0][1]["opened_changed"] == 0
    assert told[0][5]["opened_changed"] == 0
    assert hashes[0][0] - hashes[0][1] == 0


NESTED = (
    "SELECT id, named_struct('a', CAST(v AS {kind}), 'm', map('k', array(CAST(v AS {kind})))) "
    "AS value FROM VALUES (1, 4), (2, {two}) AS t(id, v)"
)


@pytest.mark.matrix
def test_a_wider_part_of_a_column_makes_the_same_history_with_and_without_row_hash(
    spark, tmp_path
) -> None:
    told = []
    for name, settings in (("hash", HASH), ("plain", CK)):
        (tmp_path / name).mkdir()
        table = HistoryTable(spark, tmp_path / name, settings)
        for at, kind, two in ((T1, "INT", 5), (T2, "DOUBLE", 5), (T3, "DOUBLE", 6), (T4, "INT", 6)):
            told.append(table.run_sql(at, NESTED.format(kind=kind, two=two)))

    assert told[:4] == told[4:]
    assert [metrics["opened_changed"] for metrics in told[1:4]] == [0, 1, 0]


@pytest.mark.parametrize(
    "settings",
    [pytest.param(CK, id="check"), pytest.param(HASH, id="row_hash", marks=pytest.mark.matrix)],
)
def test_a_field_that_is_left_out_of_the_table_is_not_compared(spark, tmp_path, settings) -> None:
    table = HistoryTable(spark, tmp_path, settings, on_schema_change=OnSchemaChange.IGNORE)
    wider = "SELECT 1 AS id, named_struct('a', 1, 'b', {b}) AS value"
    table.run_sql(T1, "SELECT 1 AS id, named_struct('a', 1) AS value")

    second = table.run_sql(T2, wider.format(b=7))
    third = table.run_sql(T3, wider.format(b=8))

    assert (second["unchanged"], third["unchanged"]) == (1, 1)


@pytest.mark.matrix
def test_an_empty_text_in_a_partition_column_is_refused_with_column_count_and_keys(
    spark, tmp_path
) -> None:
    table = HistoryTable(spark, tmp_path, CK, partition_by=("updated_at", "value"))
    table.types = {"updated_at": "string"}
    table.run(T1, source("1 a x", "2 NULL x"))
    before = versions(table)
    rows = source("1 a x", "2 NULL x", "3 E x", "4 E x", "5 __HIVE_DEFAULT_PARTITION__ x")
    rows = replace(
        rows, rows=tuple({**r, "value": "" if r["value"] == "E" else r["value"]} for r in rows.rows)
    )

    with pytest.raises(DataError) as caught:
        table.run(T2, rows)

    assert caught.value.code == "empty-partition-value"
    assert caught.value.sentence == (
        "3 rows of 'h' hold a text in 'value' that Delta would store as NULL, because the column "
        "partitions the table (e.g. id=3 value='', id=4 value='', "
        "id=5 value='__HIVE_DEFAULT_PARTITION__')"
    )
    assert caught.value.hint == (
        "select NULL or another text in its place: coalesce(nullif(value, ''), 'none')"
    )
    assert versions(table) == before
