"""The twelve steps on Spark."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.history_table import utc
from fakes.row_text import hash_of
from fakes.silver_table import KEY, T1, T2, XF, XM, SilverTable, an_entity
from penstock.core.columns.schema import Column
from penstock.core.entities.entity import EntityColumn, FieldRole, HashKind, ProcessType
from penstock.core.entities.transformations import ColumnTransformation, Projection
from penstock.core.errors import DataError, QueryError, SchemaError
from penstock.strategies.values import hash_of_values, row_text

# The literal table of hashes: SQL of the row, its text, its digest.
HASHES = [
    (
        {"id": ("1", "int")},
        "2:idD1:1",
        "d14b18466cfeea415a83f24ec381468caae395f1a2aa37f4b652be0420c77992",
    ),
    (
        {"name": ("'Alice'", "string"), "ID": ("1", "bigint")},
        "2:idD1:14:nameS5:Alice",
        "5085e2c3cd94feff3af29df44161513e5583cb13899103538d3b48548a9efca2",
    ),
    (
        {"a": ("'ab'", "string"), "b": ("'c'", "string")},
        "1:aS2:ab1:bS1:c",
        "e9af862a9baca1a5036f8d4c5e6c5370b5a02510cc2859b184ac0424313ec1f3",
    ),
    (
        {"a": ("'a'", "string"), "b": ("'bc'", "string")},
        "1:aS1:a1:bS2:bc",
        "36375c9285e98a4fb8fec4f17e261163a03dfd0da32d3b65a278b74dde4b47ff",
    ),
    (
        {"a": ("CAST(NULL AS STRING)", "string"), "b": ("'x'", "string")},
        "1:bS1:x",
        "06362e5a1ffe1e53137c9328c7d02571bf236f938e97fdbbb37eb7b3302a7087",
    ),
    (
        {"a": ("''", "string")},
        "1:aS0:",
        "c4ea3464d3575986128c260ed3b6e7c94fe208c0d84c1719f41f6022f54cdba8",
    ),
    (
        {"modified": ("TIMESTAMP '2024-01-01T00:00:00.123456Z'", "timestamp")},
        "8:modifiedt1704067200123456;",
        "ae4d6d46c4785d2c726dbacee1e0daeb2c0fdb861c1ef8d9714a9530c33cec40",
    ),
]


def test_the_digests_of_the_table_by_spark_and_by_python(spark):
    asked, rows = [], []
    for place, (columns, _, _) in enumerate(HASHES):
        values = [(Column(name, kind), sql) for name, (sql, kind) in columns.items()]
        asked += [f"{row_text(values)} AS t{place}", f"{hash_of_values(values)} AS h{place}"]
        rows += [f"{sql} AS v{place}_{n}" for n, (sql, _) in enumerate(columns.values())]
    found = spark.sql(f"SELECT {', '.join((*asked, *rows))}").collect()[0].asDict()

    for place, (columns, text, digest) in enumerate(HASHES):
        values = {name: utc(found[f"v{place}_{n}"]) for n, name in enumerate(columns)}
        kinds = {name: kind for name, (_, kind) in columns.items()}
        assert (found[f"t{place}"], found[f"h{place}"]) == (text, digest)
        assert hash_of(values, kinds) == digest


@pytest.mark.matrix
def test_neither_form_nor_technical_columns_change_the_hash(spark, tmp_path):
    loaded = EntityColumn("loaded", expression="current_timestamp()", volatile=("x",))
    entity = replace(XM, columns=(KEY, loaded), prefix="p_")
    table = SilverTable(spark, tmp_path, entity)
    at = "TIMESTAMP '2024-03-31T00:30:00Z' AS at"
    one = ["1 AS ID", "7 AS SeqNr", "CAST('1.50' AS DECIMAL(10,2)) AS d", "map(1, 2, 3, 4) AS m"]
    two = ["1L AS ID", "7 AS SeqNr", "CAST('1.5' AS DECIMAL(12,4)) AS d", "map(3, 4, 1, 2) AS m"]
    table.run_sql(T1, f"SELECT {', '.join((*one, at, '1 AS sys_load', '1 AS p_metadata'))}")
    before = table.rows("p_SourceHash, PK_x")

    turned = ", ".join(reversed((*two, at, "2 AS sys_load", "2 AS p_metadata")))
    confs = {"spark.sql.session.timeZone": "Europe/Amsterdam"}
    table.run_sql(T2, f"SELECT {turned}", confs=confs)

    assert table.rows("p_SourceHash, PK_x") == before
    assert table.rows("p_lastSeen, loaded") == [("T2", "T1")]
    assert "sys_load" not in spark.sql(f"SELECT * FROM {table.target}").columns


def test_calculated_columns_read_each_other_and_know_the_time(spark, tmp_path):
    at = dt.datetime(2024, 2, 29, 23, 30, tzinfo=dt.UTC)
    made = (
        EntityColumn("double", expression="ID * 2", type="int"),
        EntityColumn("more", expression="double + 1"),
        EntityColumn("day", expression="current_date()", volatile=("current_date",)),
    )
    table = SilverTable(spark, tmp_path, replace(XF, columns=(KEY, *made)))
    table.run(at, "(1, 1, 'A'), (2, 1, 'B')")
    assert table.rows("ID, double, more, CAST(day AS STRING), typeof(double)") == [
        (1, 2, 3, "2024-02-29", "int"),
        (2, 4, 5, "2024-02-29", "int"),
    ]

    broken = EntityColumn("broken_col", expression="INVALID_FUNCTION(ID)")
    table.entity = replace(XF, columns=(KEY, made[0], broken))
    with pytest.raises(QueryError) as failed:
        table.run(T2, "(1, 1, 'A')")
    assert failed.value.code == "calculated-column-failed"
    assert "'broken_col', INVALID_FUNCTION(ID), cannot be made" in str(failed.value)


@pytest.mark.matrix
def test_transformations_choose_add_and_replace(spark, tmp_path):
    def columns(name, *transformations):
        entity = replace(XF, columns=(), transformations=transformations)
        table = SilverTable(spark, tmp_path / name, entity)
        table.run(T1, "(1, 1, 'a')", "id, x, name", types={"id": "int"})
        frame = spark.sql(f"SELECT * EXCEPT (p_SourceHash, p_source_filename) FROM {table.target}")
        return [tuple(row)[:-2] for row in frame.collect()], frame.columns[:-2]

    assert columns("two", Projection(("id", "upper(name) as name"))) == ([(1, "A")], ["id", "name"])
    assert columns("all", Projection(("*",))) == ([(1, 1, "a")], ["id", "x", "name"])
    assert columns("x", ColumnTransformation("x", "id+1")) == (
        [(1, 2, "a")],
        ["id", "x", "name"],
    )
    assert columns("y", ColumnTransformation("y", "id+1"))[1] == ["id", "x", "name", "y"]


@pytest.mark.matrix
def test_names_are_normalised_on_every_run(spark, tmp_path):
    table = SilverTable(spark, tmp_path, replace(XM, destination="my-dest", watermark=()))
    columns = "ID, Order Date, a/b, é t"
    for at in (T1, T2):
        table.run(at, "(1, 1, 2, 3)", columns)

    assert table.rows("ID, OrderDate, `a/b`, `ét`, length(PK_mydest)") == [(1, 1, 2, 3, 64)]
    with pytest.raises(SchemaError) as twice:
        table.run(T2, "(1, 2, 3)", "ID, a-b, a.b")
    assert twice.value.code == "column-name-collision"
    assert "columns 'a-b' and 'a.b'" in str(twice.value)


def test_columns_of_penstock_and_columns_that_are_missing(spark, tmp_path):
    typed = EntityColumn("amount", type="decimal(10,2)")
    untyped = EntityColumn("colour", newname="color")
    table = SilverTable(spark, tmp_path, replace(XM, columns=(KEY, typed, untyped)))
    with pytest.raises(SchemaError) as reserved:
        table.run(T1, "(1, 1, 2, 3, 4)", "ID, SeqNr, p_lastSeen, p_SourceHash, PK_x")
    with pytest.raises(SchemaError) as missing:
        table.run(T1, "(1, 1)", "SeqNr, name")
    assert str(reserved.value).count("has the name of a column of penstock") == 3
    assert (reserved.value.code, missing.value.code) == ("reserved-column", "missing-column")

    table.run(T1, "(1, 1)", "ID, SeqNr")
    assert table.rows("amount, typeof(amount)") == [(None, "decimal(10,2)")]
    assert table.notes == (
        "column-removed: 'amount' is not in the slice; NULL of type DECIMAL(10,2) stands for it",
        "column-removed: 'colour' is not in the slice; it is left out",
    )

    bare = SilverTable(spark, tmp_path / "bare", replace(XM, prefix=""))
    with pytest.raises(SchemaError) as flag:
        bare.run(T1, "(1, 1, 'yes')", "ID, SeqNr, deleted")
    assert flag.value.code == "deleted-not-boolean"


def test_a_bad_cast_is_counted_and_shown(spark, tmp_path):
    amount = EntityColumn("amount", type="decimal(18,2)")
    table = SilverTable(spark, tmp_path, replace(XF, columns=(KEY, amount)))
    with pytest.raises(DataError) as failed:
        table.run(T1, "(1, 'abc'), (2, '1.5')", "ID, amount")
    assert (
        str(failed.value) == "1 values of \"amount\" cannot be cast to DECIMAL(18,2) (e.g. 'abc')"
    )

    table.run(T1, "(2, '1.5')", "ID, amount")
    assert table.rows("CAST(amount AS STRING)") == [("1.50",)]


@pytest.mark.matrix
def test_a_short_hash_has_sixteen_digits_and_kept_rows_are_computed_once(spark, tmp_path):
    key = EntityColumn("made", expression="ID * 10", roles=frozenset({FieldRole.BUSINESS_KEY}))
    entity = an_entity(ProcessType.MERGE, hash=HashKind.XXHASH64, columns=(key,))
    table = SilverTable(spark, tmp_path, entity)

    assert table.run(T1, "(1, 1, 'A'), (2, 1, 'B')") == "2/2/0/0"
    assert table.run(T2, "(1, 1, 'A')") == "1/0/1/0"
    assert table.rows("made, length(p_SourceHash)") == [(10, 16), (20, 16)]


@pytest.mark.parametrize("kind", ["double", "map<int,int>", "struct<a:float>"])
def test_a_key_of_a_type_that_is_never_surely_equal_is_refused(spark, tmp_path, kind):
    table = SilverTable(spark, tmp_path, XM)

    with pytest.raises(SchemaError) as refused:
        table.run_sql(T1, f"SELECT CAST(NULL AS {kind}) AS ID, 1 AS SeqNr")

    assert refused.value.code == "key-type"
