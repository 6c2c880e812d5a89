"""Entities that merge: cases EM1 to EM19 and ED1 to ED10 on real Delta tables."""

from dataclasses import replace

import pytest

from fakes.silver_table import KEY, SEQ, T1, T2, T3, T4, XM, SilverTable, an_entity
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import (
    EntityColumn,
    EntityScope,
    FieldRole,
    LastSeen,
    WatermarkEntry,
)
from penstock.core.errors import SchemaError

pytestmark = pytest.mark.matrix
PARTITION = frozenset({FieldRole.PARTITION})
BOTH = frozenset({FieldRole.PARTITION, FieldRole.BUSINESS_KEY})
FLAGGED = "ID, SeqNr, name, p_deleted"
BOOL = {"p_deleted": "boolean"}


@pytest.fixture
def table(spark, tmp_path):
    return SilverTable(spark, tmp_path, XM)


@pytest.fixture
def inferring(spark, tmp_path):
    return SilverTable(spark, tmp_path, an_entity(delete_missing=True))


def test_rows_are_inserted_and_updated_and_all_are_seen(table):
    first = table.run(T1, "(1, 100, 'John'), (2, 200, 'Jane')")
    assert (first, str(table.watermarks["SeqNr"])) == ("2/2/0/0", "INT 200")

    second = table.run(T2, "(1, 150, 'John2'), (2, 200, 'Jane'), (3, 300, 'Bob')")

    assert second == "3/1/2/0"
    assert str(table.watermarks["SeqNr"]) == "INT 300"
    assert table.rows("ID, SeqNr, name, p_lastSeen") == [
        (1, 150, "John2", "T2"),
        (2, 200, "Jane", "T2"),
        (3, 300, "Bob", "T2"),
    ]


def test_a_row_that_is_not_in_the_slice_is_untouched(table):
    table.run(T1, "(1, 100, 'J'), (2, 200, 'K'), (3, 300, 'L')")

    told = table.run(T2, "(1, 110, 'J2'), (2, 200, 'K'), (4, 400, 'M')")

    assert told == "3/1/2/0"
    assert table.rows("ID, p_lastSeen") == [(1, "T2"), (2, "T2"), (3, "T1"), (4, "T2")]


def test_a_delete_flag_keeps_the_row_and_a_key_may_return(table):
    table.run(T1, "(1, 100, 'A')")
    [(before,)] = table.rows("p_SourceHash")

    assert table.run(T2, "(1, 999, 'Z', true)", FLAGGED, types=BOOL) == "1/0/0/1"
    shown = "ID, SeqNr, name, p_deleted, p_lastSeen, p_SourceHash"
    assert table.rows(shown) == [(1, 100, "A", True, "T2", before)]
    assert table.run(T3, "(1, 100, 'A', false)", FLAGGED, types=BOOL) == "1/0/1/0"
    assert table.rows(shown) == [(1, 100, "A", False, "T3", before)]

    version = table.version
    assert table.run(T4, "(5, 1, 'E', true)", FLAGGED, types=BOOL) == "1/0/0/1"
    assert (len(table.rows()), table.version) == (1, version)

    flags = "(1, 101, 'A', NULL), (6, 1, 'F', NULL)"
    assert table.run(T4, flags, FLAGGED, types=BOOL) == "2/1/1/0"
    assert table.rows("ID, p_deleted") == [(1, False), (6, False)]


def test_a_first_run_leaves_out_what_arrives_deleted(table):
    told = table.run(T1, "(5, 1, 'E', true), (6, 1, 'F', false)", FLAGGED, types=BOOL)

    assert (told, table.rows("ID")) == ("2/1/0/1", [(6,)])


def test_one_slice_with_everything_and_the_same_slice_again(table):
    table.run(T1, "(1, 1, 'A'), (2, 1, 'B'), (3, 1, 'C')")
    rows = (
        "(1, 2, 'A2', false), (2, 1, 'B', false), (3, 1, 'C', true), "
        "(4, 1, 'D', false), (5, 1, 'E', true)"
    )

    assert table.run(T2, rows, FLAGGED, types=BOOL) == "5/1/2/2"
    found = table.spark.sql(f"DESCRIBE HISTORY {table.target}").collect()[0].operationMetrics
    names = ("numSourceRows", "numTargetRowsInserted", "numTargetRowsMatchedUpdated")
    assert [found[name] for name in names] == ["5", "1", "3"]

    before = table.rows("*")
    assert table.run(T2, rows, FLAGGED, types=BOOL) == "5/0/3/2"
    assert [row[:2] for row in table.rows("*")] == [row[:2] for row in before]
    assert str(table.watermarks["SeqNr"]) == "INT 2"


def test_on_change_writes_only_what_changed(spark, tmp_path):
    table = SilverTable(spark, tmp_path, an_entity(last_seen=LastSeen.ON_CHANGE))
    rows = "(1, 1, 'A', false), (2, 1, 'B', false), (3, 1, 'C', false)"
    table.run(T1, rows, FLAGGED, types=BOOL)

    assert (table.run(T2, rows, FLAGGED, types=BOOL), table.version) == ("3/0/3/0", 0)
    assert set(table.rows("p_lastSeen")) == {("T1",)}
    changed = rows.replace("'B'", "'B2'")
    assert (table.run(T2, changed, FLAGGED, types=BOOL), table.version) == ("3/0/3/0", 1)
    assert table.rows("ID, p_lastSeen") == [(1, "T1"), (2, "T2"), (3, "T1")]
    gone = "(3, 1, 'C', true)"
    assert (table.run(T3, gone, FLAGGED, types=BOOL), table.version) == ("1/0/0/1", 2)
    assert (table.run(T4, gone, FLAGGED, types=BOOL), table.version) == ("1/0/0/1", 2)

    assert table.run(T4, "(1, 1, 'A', NULL)", "ID, SeqNr, name, extra", types={"extra": "int"})
    assert (table.version, table.rows("ID, extra", where="ID = 1")) == (3, [(1, None)])


def test_a_partition_that_the_key_tells_is_in_the_condition(spark, tmp_path):
    office = EntityColumn("Administration", expression="950", literal="950", roles=BOTH)
    table = SilverTable(spark, tmp_path, replace(XM, columns=(office, KEY)))

    table.run(T1, "(1, 100, 'John'), (2, 200, 'Jane')")
    told = table.run(T2, "(1, 150, 'John2'), (2, 200, 'Jane'), (3, 300, 'Bob')")

    assert told == "3/1/2/0"
    assert table.rows("ID, Administration") == [(1, 950), (2, 950), (3, 950)]
    sql = table.committed.sql
    assert "t.`Administration` IN (CAST('950' AS INT))" in sql
    assert "t.`Administration` <=> s.`Administration`" in sql


def test_a_row_moves_between_partitions_that_the_key_does_not_tell(spark, tmp_path):
    country = EntityColumn("country", roles=PARTITION)
    table = SilverTable(spark, tmp_path, replace(XM, columns=(KEY, country)))

    table.run(T1, "(1, 1, 'NL')", "ID, SeqNr, country")
    table.run(T2, "(1, 2, 'DE')", "ID, SeqNr, country")

    assert table.rows("ID, country") == [(1, "DE")]
    on = table.committed.sql.partition(" ON ")[2].partition(" WHEN ")[0]
    assert "country" not in on


def test_partitions_of_keys_with_odd_values(spark, tmp_path):
    text = EntityColumn("ID", roles=frozenset({FieldRole.BUSINESS_KEY}))
    part = EntityColumn("part", expression="nullif(ID, 'n')", reads=("ID",), roles=PARTITION)
    table = SilverTable(spark, tmp_path, replace(XM, columns=(text, part)))
    rows = "('it\\'s \"x\"', 1, 'A'), ('n', 1, 'B')"

    for at in (T1, T2):
        table.run(at, rows, types={"ID": "string"})

    assert table.rows("ID, part") == [('it\'s "x"', 'it\'s "x"'), ("n", None)]
    assert "t.`part` <=> s.`part`" in table.committed.sql


def test_columns_that_are_gone_or_new(table):
    table.run(T1, "(1, 1, 'd'), (2, 1, 'd'), (3, 1, 'd')", "ID, SeqNr, details")

    assert table.run(T2, "(1, 2), (2, 1)", "ID, SeqNr") == "2/0/2/0"
    assert table.rows("ID, details") == [(1, None), (2, None), (3, "d")]
    assert table.notes == ("column-removed: 'details' is not in the slice",)

    hashes = dict(table.rows("ID, p_SourceHash"))
    version = table.version
    rows = "(1, 2, NULL, 'E'), (2, 1, NULL, NULL)"
    types = {"details": "string", "extra": "string"}
    table.run(T3, rows, "ID, SeqNr, details, extra", types=types)
    assert (table.rows("ID, extra"), table.version) == (
        [(1, "E"), (2, None), (3, None)],
        version + 1,
    )
    after = dict(table.rows("ID, p_SourceHash"))
    assert (after[1] == hashes[1], after[2] == hashes[2]) == (False, True)


def test_types_that_widen_and_types_that_do_not(table):
    table.run(T1, "(1, 1, 'A'), (2, 1, 'B')")
    keys = table.rows("ID, PK_x")

    table.run(T2, "(1, 5000000000, 'A')", types={"SeqNr": "bigint"})
    assert table.rows("ID, SeqNr") == [(1, 5000000000), (2, 1)]
    assert table.notes == ("type-widened: 'SeqNr' is widened from INT to BIGINT",)
    table.run(T3, "(1, 7, 'A')")
    assert table.notes == ("type-differs: 'SeqNr' is INT in the slice and BIGINT in the table",)
    with pytest.raises(SchemaError) as text:
        table.run(T3, "(1, 'x', 'A')", types={"SeqNr": "string"})
    table.run(T3, "(1, 8, 'A')", types={"ID": "bigint"})
    with pytest.raises(SchemaError) as key:
        table.run(T3, "('1', 8, 'A')", types={"ID": "string"})

    assert (text.value.code, key.value.code) == ("incompatible-type", "key-type-changed")
    assert table.rows("ID, PK_x") == keys


def test_keys_and_values_are_never_mixed_up(spark, tmp_path):
    other = EntityColumn("k", roles=frozenset({FieldRole.BUSINESS_KEY}))
    table = SilverTable(spark, tmp_path, replace(XM, columns=(KEY, other), watermark=()))
    columns, types = "ID, k, a, b", {"ID": "string", "k": "string", "a": "string", "b": "string"}
    table.run(T1, "('a_b', 'c', 'ab', 'c'), ('a', 'b_c', NULL, 'x')", columns, types=types)
    before = dict(table.rows("ID, p_SourceHash"))

    table.run(T2, "('a_b', 'c', 'a', 'bc'), ('a', 'b_c', '', 'x')", columns, types=types)

    assert table.rows("ID, k, a, b") == [("a", "b_c", "", "x"), ("a_b", "c", "a", "bc")]
    after = dict(table.rows("ID, p_SourceHash"))
    assert (after["a"] == before["a"], after["a_b"] == before["a_b"]) == (False, False)


def test_a_key_that_the_window_lacks_is_gone(inferring):
    table = inferring
    assert table.run(T1, "(1, 100, 'A'), (2, 100, 'B'), (3, 100, 'C')") == "3/3/0/0"

    assert table.run(T2, "(1, 200, 'A2'), (2, 200, 'B')") == "2/0/2/0 x1"
    assert (table.version, table.rows("ID, name, p_deleted, p_lastSeen")) == (
        1,
        [(1, "A2", False, "T2"), (2, "B", False, "T2"), (3, "C", True, "T2")],
    )
    assert table.run(T3, "(1, 300, 'A3'), (2, 300, 'B3')") == "2/0/2/0"
    assert table.rows("p_deleted, p_lastSeen", where="ID = 3") == [(True, "T2")]
    assert table.run(T4, "(3, 100, 'C')") == "1/0/1/0"
    assert table.rows("p_deleted, p_lastSeen", where="ID = 3") == [(False, "T4")]
    assert table.run(T4, "") == "0/0/0/0"


def test_windows_follow_the_watermark(spark, tmp_path):
    entity = an_entity(delete_missing=True)
    one, four = (SilverTable(spark, tmp_path / name, entity) for name in ("three", "four"))
    one.run(T1, "(1, 50, 'Old'), (2, 100, 'A'), (3, 100, 'B')")
    assert one.run(T2, "(2, 200, 'A2'), (4, 500, 'F')") == "2/1/1/0 x1"
    assert one.rows("ID, p_deleted") == [(1, False), (2, False), (3, True), (4, False)]

    four.run(T1, "(1, 100, 'A'), (2, 100, 'B'), (3, 100, 'C'), (4, 100, 'D')")
    four.run(T2, "(1, 200, 'A'), (2, 200, 'B'), (4, 200, 'D')")
    four.run(T3, "(1, 300, 'A'), (4, 300, 'D')")
    assert four.rows("ID, p_deleted, p_lastSeen") == [
        (1, False, "T3"),
        (2, True, "T3"),
        (3, True, "T2"),
        (4, False, "T3"),
    ]


def test_a_lookback_and_rows_without_a_watermark(spark, tmp_path):
    entry = WatermarkEntry("day", expression="${minus_days(last_value, 7)}")
    table = SilverTable(spark, tmp_path, an_entity(delete_missing=True, watermark=(entry,)))
    days = {"day": "date"}
    rows = "(1, '2025-07-02'), (2, '2025-07-03'), (3, '2025-07-10'), (4, NULL), (5, '2025-07-10')"
    table.run(T1, rows, "ID, day", types=days)
    assert table.notes == ("null-watermark: 1 rows have NULL in watermark column 'day'",)

    assert table.run(T2, "(5, '2025-07-11')", "ID, day", types=days) == "1/0/1/0 x2"

    gone = [row[0] for row in table.rows("ID", where="p_deleted")]
    assert gone == [2, 3]


def test_only_partitions_of_the_slice_and_no_key_that_it_holds(spark, tmp_path):
    region = EntityColumn("region", roles=BOTH)
    table = SilverTable(
        spark, tmp_path, an_entity(delete_missing=True, columns=(KEY, region), watermark=(SEQ,))
    )
    columns = "ID, SeqNr, region"
    table.run(T1, "(1, 100, 'EU'), (2, 100, 'EU'), (3, 100, 'US')", columns)
    assert table.run(T2, "(1, 200, 'EU')", columns) == "1/0/1/0 x1"
    assert table.rows("ID, p_deleted") == [(1, False), (2, True), (3, False)]
    assert table.run(T3, "(9, 150, 'US')", columns) == "1/1/0/0"  # an older slice

    moving = EntityColumn("region", roles=PARTITION)
    other = SilverTable(
        spark, tmp_path / "moving", an_entity(delete_missing=True, columns=(KEY, moving))
    )
    other.run(T1, "(1, 100, 'EU'), (2, 100, 'US')", columns)
    assert other.run(T2, "(1, 200, 'US')", columns) == "1/0/1/0 x1"
    assert other.rows("ID, region, p_deleted") == [(1, "US", False), (2, "US", True)]


def test_every_watermark_column_must_hold_the_row(spark, tmp_path):
    two = (WatermarkEntry("M"), WatermarkEntry("C", "or"))
    table = SilverTable(spark, tmp_path, an_entity(delete_missing=True, watermark=two))
    table.run(T1, "(1, 100, 10), (2, 100, 5), (3, 100, 10)", "ID, M, C")

    assert table.run(T2, "(1, 200, 20)", "ID, M, C") == "1/0/1/0 x1"
    assert table.rows("ID, p_deleted") == [(1, False), (2, False), (3, True)]

    table.entity = replace(table.entity, watermark=(*two, SEQ))
    said = "delete-window-undefined: nothing is inferred to be deleted, since {} has no window yet"
    assert table.run(T3, "(1, 300, 30, 1)", "ID, M, C, SeqNr") == "1/0/1/0"
    assert table.notes[-1] == said.format("'SeqNr'")
    assert table.run(T3, "(2, 400, 40, NULL)", "ID, M, C, SeqNr") == "1/0/1/0"
    assert table.notes[-1] == said.format("'SeqNr'")


def test_an_empty_slice_may_stand_for_all_that_is_above(spark, tmp_path):
    table = SilverTable(spark, tmp_path, an_entity(delete_missing=True, allow_empty_delete=True))
    table.run(T1, "(1, 50, 'A'), (2, 100, 'B'), (3, 100, 'C')")

    assert (table.run(T2, ""), table.version) == ("0/0/0/0 x2", 1)
    assert table.rows("ID, p_deleted") == [(1, False), (2, True), (3, True)]


def test_a_watermark_never_goes_back_and_keeps_its_series(table):
    told = []
    for at, rows in ((T1, "(1, 10, 'A'), (2, 5, 'B')"), (T2, "(1, 20, 'A')"), (T3, "(1, 15, 'A')")):
        table.run(at, rows)
        told.append(str(table.watermarks["SeqNr"]))
    assert told == ["INT 10", "INT 20", "INT 20"]
    table.run(T4, "(1, 30, 'A')", types={"SeqNr": "bigint"})
    assert str(table.watermarks["SeqNr"]) == "BIGINT 30"


def test_two_entities_of_one_table_touch_only_their_rows(spark, tmp_path):
    def office(number):
        column = EntityColumn(
            "office", expression=str(number), literal=str(number), roles=PARTITION
        )
        entity = an_entity(delete_missing=True, columns=(KEY, column))
        return replace(entity, scope=EntityScope("office", str(number)))

    one = SilverTable(spark, tmp_path, office(950))
    other = SilverTable(spark, tmp_path, office(1000), slices=100)
    one.run(T1, "(1, 100, 'A'), (2, 100, 'B')")
    assert other.run(T1, "(1, 100, 'X'), (2, 100, 'Y')") == "2/2/0/0"

    one.slices = 200
    assert one.run(T2, "(1, 200, 'A2')") == "1/0/1/0 x1"

    assert one.rows("office, ID, name, p_deleted") == [
        (950, 1, "A2", False),
        (950, 2, "B", True),
        (1000, 1, "X", False),
        (1000, 2, "Y", False),
    ]


def test_a_whole_source_is_read_above_its_bound_or_one_slice_of_it(spark, tmp_path):
    table = SilverTable(spark, tmp_path, XM, {"SeqNr": TypedValue("INT", "3")})
    five = ", ".join(f"({n}, {n}, 's{n % 2}')" for n in range(1, 6))
    sql = f"SELECT * FROM VALUES {five}, (6, 3, 's2') AS v(ID, SeqNr, p_source_filename)"

    assert table.run_sql(T1, sql, whole=True) == "4/4/0/0"
    assert [row[0] for row in table.rows("ID")] == [3, 4, 5, 6]
    assert table.run_sql(T2, sql, only="s2") == "1/0/1/0"
    with pytest.raises(SchemaError) as missing:
        table.run_sql(T2, "SELECT 1 AS ID, 1 AS SeqNr", only="s2")
    assert missing.value.code == "slice-column-missing"


def test_letters_of_names_may_differ_between_slices_and_the_entity(spark, tmp_path):
    region = EntityColumn("Region", roles=BOTH)
    entity = an_entity(
        delete_missing=True, columns=(KEY, region), watermark=(replace(SEQ, column="seqnr"),)
    )
    table = SilverTable(spark, tmp_path, entity)
    table.run(T1, "(1, 100, 'EU'), (2, 100, 'EU')", "id, SEQNR, REGION")
    before = table.rows("id, PK_x, p_SourceHash")

    assert table.run(T2, "(1, 100, 'EU')", "ID, SeqNr, region") == "1/0/1/0 x1"

    assert table.rows("id, PK_x, p_SourceHash") == before
    assert table.rows("ID, p_deleted") == [(1, False), (2, True)]
    assert str(table.watermarks["seqnr"]) == "INT 100"


def test_a_merge_is_pruned_by_the_keys_of_its_slice(spark, tmp_path):
    table = SilverTable(spark, tmp_path, replace(XM, watermark=()))
    for number in range(3):
        low = number * 100
        table.run_sql(T1, f"SELECT CAST(id AS INT) AS ID, 'a' AS name FROM range({low}, {low + 9})")

    assert table.run(T2, "(200, 'b'), (205, 'b')", "ID, name") == "2/0/2/0"

    found = table.spark.sql(f"DESCRIBE HISTORY {table.target}").collect()[0].operationMetrics
    assert found["numTargetFilesRemoved"] in {"0", "1"}
    assert "t.`ID` BETWEEN CAST('200' AS INT) AND CAST('205' AS INT)" in table.committed.sql
