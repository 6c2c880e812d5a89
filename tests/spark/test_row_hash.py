"""The row hash on Spark, against the text that it promises."""

import datetime as dt
import math
import struct
from decimal import Decimal

import pytest

from fakes.row_text import hash_of
from penstock.core.columns.schema import Column
from penstock.strategies.values import row_hash


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def single(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


MOMENTS = [
    moment("1970-01-01T00:00:00"),
    moment("2024-03-31T02:30:00.000001"),
    moment("1969-12-31T23:59:59.999999"),
    moment("0001-01-02T00:00:00"),
    moment("9999-12-30T23:59:59.999999"),
]
NUMBERS = [0.0, -0.0, 0.1, -1.5, 1e7, 123456789.125, 1e-3, 9.5e-4, 1e21, 1e-300, math.inf, math.nan]
VALUES = {
    "boolean": [True, False],
    "tinyint": [0, -128, 127],
    "int": [0, -1, 2_147_483_647],
    "bigint": [0, -9_223_372_036_854_775_808],
    "decimal(10,0)": [Decimal(0), Decimal(100), Decimal(-100)],
    "decimal(10,2)": [Decimal("1.50"), Decimal(0), Decimal("-0.01"), Decimal(1200)],
    "decimal(38,18)": [Decimal("1E-18"), Decimal("-1E-10"), Decimal(0), Decimal("1" * 20 + ".5")],
    "decimal(38,38)": [Decimal("0." + "1" * 38), Decimal("-1E-38"), Decimal("0.25")],
    "float": [single(number) for number in NUMBERS if number not in (1e21, 1e-300)],
    "double": NUMBERS,
    "string": ["", "x||", "1:a", "'\\", "naïve", "😀", "N", "\x00", " "],
    "binary": [b"", b"\x00\xff", b"text"],
    "date": [each.date() for each in MOMENTS],
    "timestamp": MOMENTS,
    "timestamp_ntz": [each.replace(tzinfo=None) for each in MOMENTS],
    "array<int>": [[], [None], [1, 2], [2, 1]],
    "array<array<string>>": [[["a", None], None, []]],
    "struct<a:int,B c:string>": [(1, "x"), (None, None)],
    "map<string,int>": [{}, {"b": 1, "a": None, "aa": 2, "B": 3}],
    "map<double,map<string,decimal(4,1)>>": [{-0.0: {"z": Decimal(1), "y": None}, 1.0: None}],
    "array<struct<m:map<bigint,timestamp_ntz>,d:double>>": [
        [({10: MOMENTS[1].replace(tzinfo=None), 9: None, -1: None}, -0.0), None, (None, math.nan)]
    ],
}
COLUMNS = [Column(f"c{place}", kind) for place, kind in enumerate(VALUES)]
TYPES = {column.name: column.type for column in COLUMNS}


@pytest.fixture(scope="module")
def session(spark):
    return spark.newSession()


@pytest.fixture(scope="module")
def rows(session):
    """Give each type its values in turn, NULL after the last."""
    longest = max(map(len, VALUES.values()))
    found = [
        {
            column.name: (values[place] if place < len(values) else None)
            for column, values in zip(COLUMNS, VALUES.values(), strict=True)
        }
        for place in range(longest + 1)
    ]
    declared = ", ".join(f"{name} {kind.replace('B c', '`B c`')}" for name, kind in TYPES.items())
    frame = session.createDataFrame([tuple(row.values()) for row in found], declared)
    frame.createOrReplaceTempView("hashed")
    return found


@pytest.mark.parametrize(
    ("zone", "ansi"), [("UTC", "true"), ("Europe/Amsterdam", "false"), ("America/St_Johns", "true")]
)
def test_the_hash_is_that_of_the_promised_text_in_every_session(session, rows, zone, ansi):
    session.conf.set("spark.sql.session.timeZone", zone)
    session.conf.set("spark.sql.ansi.enabled", ansi)
    alone = [f"{row_hash([column])} AS {column.name}" for column in COLUMNS]
    whole = row_hash(COLUMNS[::-1], "h.")

    found = session.sql(f"SELECT {', '.join(alone)}, {whole} AS whole FROM hashed h").collect()

    for row, hashes in zip(rows, found, strict=True):
        expected = {name: hash_of({name: row[name]}, TYPES) for name in row}
        assert hashes.asDict() == expected | {"whole": hash_of(row, TYPES)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAST(1 AS TINYINT)", "1.000"),
        ("1.50", "CAST(1.5 AS DECIMAL(38,18))"),
        ("CAST(0.5 AS FLOAT)", "0.5D"),
        ("-0.0D", "0.0D"),
        ("CAST('NaN' AS FLOAT)", "CAST('NaN' AS DOUBLE)"),
        ("map('a', 1, 'b', 2)", "map('b', 2L, 'a', 1L)"),
        ("array(map(1, 'x', 2, 'y'))", "array(map(2, 'y', 1, 'x'))"),
    ],
)
def test_values_that_are_equal_have_one_hash(session, one, other):
    frame = session.sql(f"SELECT struct({one} AS c) AS v, struct({other} AS c) AS w")
    kinds = {name: kind.removeprefix("struct<c:")[:-1] for name, kind in frame.dtypes}
    frame.createOrReplaceTempView("pair")
    v, w = (row_hash([Column("c", kind)], f"{name}.") for name, kind in kinds.items())

    found = session.sql(f"SELECT {v} = {w} FROM pair").collect()

    assert found[0][0] is True
