"""Entities that keep history, on real Delta tables."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.silver_table import T1, T2, T3, T4, XH, SilverTable, an_entity
from penstock.core.entities.entity import EntityColumn, EntityScope, FieldRole, ProcessType
from penstock.core.errors import DataError

VERSIONS = "ID, p_ValidFrom, p_ValidTo, p_IsCurrent, SeqNr, name, p_lastSeen"
FLAGGED = "ID, SeqNr, name, p_deleted"
BOOL = {"p_deleted": "boolean"}
PARTITION = frozenset({FieldRole.PARTITION})


@pytest.fixture
def table(spark, tmp_path):
    return SilverTable(spark, tmp_path, XH)


def inferring(**changes):
    return an_entity(ProcessType.HISTORIC, delete_missing=True, **changes)


def test_a_change_closes_a_version_and_opens_one(table):
    assert table.run(T1, "(1, 100, 'A'), (2, 100, 'B')") == "2/2/0/0 =0"
    assert table.rows(VERSIONS) == [
        (1, "T1", None, True, 100, "A", "T1"),
        (2, "T1", None, True, 100, "B", "T1"),
    ]
    assert table.spark.sql(f"SELECT * FROM {table.target}").columns == [
        *("ID", "SeqNr", "name", "p_SourceHash", "p_ValidFrom", "p_ValidTo", "p_IsCurrent"),
        *("p_source_filename", "PK_x", "p_deleted", "p_lastSeen"),
    ]

    rows = "(1, 200, 'A2'), (2, 100, 'B')"
    assert table.run(T2, rows) == "2/0/1/0 =1"
    assert (table.version, table.rows(VERSIONS)) == (
        1,
        [
            (1, "T1", "T2", False, 100, "A", "T1"),
            (1, "T2", None, True, 200, "A2", "T2"),
            (2, "T1", None, True, 100, "B", "T1"),
        ],
    )
    assert (table.run(T2, rows), table.version) == ("2/0/0/0 =2", 1)
    with pytest.raises(DataError) as late:
        table.run(T2, "(1, 300, 'A3')")
    assert (late.value.code, table.version) == ("run-time-not-after-version", 1)

    # an instant one microsecond later is another
    table.run(T2 + dt.timedelta(microseconds=1), "(1, 400, 'A4', 'x')", "ID, SeqNr, name, more")
    assert table.rows("ID, more", where="p_IsCurrent") == [(1, "x"), (2, None)]


@pytest.mark.matrix
def test_five_keys_of_which_two_change(table):
    same = "(3, 100, 'x'), (4, 100, 'x'), (5, 100, 'x')"
    table.run(T1, f"(1, 100, 'x'), (2, 100, 'x'), {same}")

    assert table.run(T2, f"(1, 200, 'y'), (2, 200, 'y'), {same}, (6, 200, 'x')") == "6/1/2/0 =3"
    assert len(table.rows("ID", where="p_IsCurrent")) == 6
    assert table.rows("ID, p_ValidFrom", where="ID < 3") == [
        (1, "T1"),
        (1, "T2"),
        (2, "T1"),
        (2, "T2"),
    ]


@pytest.mark.matrix
def test_an_explicit_delete_is_a_version_of_its_own(table):
    for at, flag in ((T1, "false"), (T2, "true"), (T3, "false")):
        told = table.run(at, f"(1, 100, 'A', {flag})", FLAGGED, types=BOOL)

    assert told == "1/0/1/0 =0"
    assert table.rows("p_ValidFrom, p_ValidTo, p_deleted") == [
        ("T1", "T2", False),
        ("T2", "T3", True),
        ("T3", None, False),
    ]


@pytest.mark.matrix
def test_a_key_gone_from_the_window_is_closed_and_may_return(spark, tmp_path):
    table = SilverTable(spark, tmp_path, inferring())
    table.run(T1, "(1, 100, 'A'), (2, 100, 'B'), (3, 100, 'C')")

    assert table.run(T2, "(1, 200, 'A2'), (2, 200, 'B')") == "2/0/2/1 =0 x1"
    table.run(T3, "(1, 300, 'A3'), (2, 300, 'B')")
    gone = "p_ValidFrom, p_ValidTo, p_IsCurrent, p_deleted, p_lastSeen"
    assert table.rows(gone, where="ID = 3") == [("T1", "T2", False, True, "T2")]
    assert table.rows("p_ValidFrom, p_deleted", where="ID = 1") == [
        ("T1", False),
        ("T2", False),
        ("T3", False),
    ]

    # 1 and 2 lie at 300, which the window from 300 to 400 holds
    assert table.run(T4, "(3, 400, 'C')") == "1/1/0/2 =0 x2"
    assert table.rows(gone, where="ID = 3") == [
        ("T1", "T2", False, True, "T2"),
        ("T4", None, True, False, "T4"),
    ]


@pytest.mark.matrix
def test_a_history_closes_only_rows_of_its_partitions_and_its_scope(spark, tmp_path):
    def office(number):
        text = str(number)
        column = EntityColumn("office", expression=text, literal=text, roles=PARTITION)
        region = EntityColumn("region", roles=PARTITION)
        entity = inferring(columns=(*XH.columns, column, region))
        return replace(entity, scope=EntityScope("office", text))

    one = SilverTable(spark, tmp_path, office(950))
    other = SilverTable(spark, tmp_path, office(1000), slices=100)
    columns = "ID, SeqNr, region"
    rows = "(1, 100, 'EU'), (2, 100, 'EU'), (3, 100, 'US')"
    one.run(T1, rows, columns)
    assert other.run(T1, rows, columns) == "3/3/0/0 =0"

    one.slices = 200
    assert one.run(T2, "(1, 200, 'EU')", columns) == "1/0/1/1 =0 x1"

    assert one.rows("office, ID", where="p_IsCurrent") == [
        *((950, 1), (950, 3)),
        *((1000, 1), (1000, 2), (1000, 3)),
    ]
