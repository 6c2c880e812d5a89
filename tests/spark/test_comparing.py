"""Comparing and converting on Spark: what counts as equal, at any depth."""

import json

import pytest

from penstock.strategies.values import convert, equals, merged_type

BERLIN = "TIMESTAMP'2024-06-01 12:00:00+02:00'"
UTC = "TIMESTAMP'2024-06-01 10:00:00Z'"
EQUAL = {
    "NULL and NULL": ("CAST(NULL AS STRING)", "CAST(NULL AS STRING)"),
    "NaN and NaN": ("CAST('NaN' AS DOUBLE)", "CAST('NaN' AS FLOAT)"),
    "the zeros": ("array(-0.0D)", "array(0.0D)"),
    "scales": ("1.5", "1.50"),
    "widths": ("CAST(1 AS TINYINT)", "1L"),
    "an integer and a decimal": ("7", "CAST(7 AS DECIMAL(12,2))"),
    "a float and a double": ("CAST(0.5 AS FLOAT)", "0.5D"),
    "instants": (BERLIN, UTC),
    "orders of entries": ("map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
    "orders of entries in entries": (
        "map('k', map('a', 1, 'b', NULL), 'n', NULL)",
        "map('n', NULL, 'k', map('b', NULL, 'a', 1))",
    ),
    "maps in structs in arrays": (
        "array(struct(map(1, 'x', 2, 'y') AS m), NULL)",
        "array(struct(map(2L, 'y', 1L, 'x') AS m), NULL)",
    ),
    "keys of structs": (
        "map(struct(1 AS a), 'x', struct(2 AS a), 'y')",
        "map_from_arrays(transform(array(2L, 1L), k -> struct(DATE(NULL) b, k a)), split('yx',''))",
    ),
    "a field that is missing and NULL": (
        "named_struct('a', 1)",
        "named_struct('new', CAST(NULL AS MAP<INT, INT>), 'A', 1L)",
    ),
    "fields in another order": ("named_struct('a', 1, 'b', 2)", "named_struct('b', 2, 'a', 1)"),
    "odd names": ("named_struct('a b', 1)", "named_struct('A B', 1L, 'x`y', CAST(NULL AS DATE))"),
}
DIFFERENT = {
    "NULL and the empty text": ("CAST(NULL AS STRING)", "''"),
    "an empty map and NULL": (
        "map_filter(map(1, 2), (k, v) -> false)",
        "CAST(NULL AS MAP<INT, INT>)",
    ),
    "an entry with NULL and none": ("map('a', CAST(NULL AS INT))", "map('b', CAST(NULL AS INT))"),
    "values of entries": ("map('a', 1, 'b', 2)", "map('a', 2, 'b', 1)"),
    "orders of elements": ("array(1, 2)", "array(2, 1)"),
    "a large number and its neighbour": ("9007199254740993L", "9007199254740992L"),
    "a field that is missing and set": ("named_struct('a', 1)", "named_struct('a', 1, 'b', 2)"),
    "NULL and a struct of NULLs": (
        "CAST(NULL AS STRUCT<a: INT>)",
        "named_struct('a', CAST(NULL AS BIGINT))",
    ),
    "letter case": ("'a'", "'A'"),
}


@pytest.fixture(scope="module")
def session(spark):
    return spark.newSession()


def ask(session, cases, zone="UTC"):
    """Compare all pairs both ways in one query: one row of answers, in the order of the cases."""
    session.conf.set("spark.sql.session.timeZone", zone)
    pairs = {
        f"{side}{n}": text
        for n, pair in enumerate(cases.values())
        for side, text in zip("lr", pair, strict=True)
    }
    frame = session.sql("SELECT " + ", ".join(f"{text} AS {name}" for name, text in pairs.items()))
    kinds = dict(frame.dtypes)
    names = [(f"{a}{n}", f"{b}{n}") for a, b in ("lr", "rl") for n in range(len(cases))]
    asked = [equals(f"`{a}`", f"`{b}`", kinds[a], kinds[b]) for a, b in names]
    (answers,) = frame.selectExpr(*asked).collect()
    half = len(cases)
    return {case: (answers[n], answers[n + half]) for n, case in enumerate(cases)}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Amsterdam"])
def test_these_are_equal_whatever_the_zone(session, zone):
    assert ask(session, EQUAL, zone) == dict.fromkeys(EQUAL, (True, True))


def test_these_values_differ(session):
    assert ask(session, DIFFERENT) == dict.fromkeys(DIFFERENT, (False, False))


def test_a_text_is_compared_by_its_collation(session):
    frame = session.sql("SELECT 'a' COLLATE UTF8_LCASE AS l, 'A' COLLATE UTF8_LCASE AS r")
    kind = dict(frame.dtypes)["l"]

    assert frame.selectExpr(equals("l", "r", kind, kind)).collect()[0][0] is True


HAVE = "struct<a:int,m:map<int,struct<x:float>>,l:array<struct<d:decimal(3,1)>>>"
MORE = (
    "struct<m:map<bigint,struct<x:double,y:map<int,int>>>,"
    "l:array<struct<d:decimal(5,2),e:date>>,z z:string>"
)
WANT = merged_type(HAVE, MORE)


def test_a_value_is_converted_at_every_depth_and_nothing_else_becomes_null(session):
    frame = session.sql(
        "SELECT named_struct('a', 1, 'm', map(7, named_struct('x', CAST(0.5 AS FLOAT)), 8, NULL), "
        "'l', array(named_struct('d', 1.5), NULL)) AS v UNION ALL "
        "SELECT named_struct('a', NULL, 'm', NULL, 'l', NULL) UNION ALL SELECT NULL"
    )

    found = frame.selectExpr(f"{convert('`v`', HAVE, WANT)} AS v")

    assert dict(found.dtypes) == {"v": WANT}
    shown = found.selectExpr("to_json(struct(v), map('ignoreNullFields', 'false'))").collect()
    assert [json.loads(row[0])["v"] for row in shown] == [
        {
            "a": 1,
            "m": {"7": {"x": 0.5, "y": None}, "8": None},
            "l": [{"d": 1.50, "e": None}, None],
            "z z": None,
        },
        {"a": None, "m": None, "l": None, "z z": None},
        None,
    ]


def test_fields_that_are_not_wanted_are_left_out(session):
    frame = session.sql("SELECT array(named_struct('a', 1, 'b', 2)) AS v")
    kind = dict(frame.dtypes)["v"]

    found = frame.selectExpr(f"{convert('`v`', kind, 'array<struct<b:bigint>>')} AS v")

    assert found.dtypes == [("v", "array<struct<b:bigint>>")]
    assert found.collect()[0][0][0].asDict() == {"b": 2}
