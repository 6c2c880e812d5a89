"""Two rows have equal hashes exactly if they compare equal, on Spark and by plain Python."""

import math
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.row_text import hash_of
from penstock.core.columns.schema import Column
from penstock.strategies.values import equals, row_hash

pytestmark = pytest.mark.spark

# The two sides hold the same values in types of different width, scale and size.
LEFT = {
    "a": "int",
    "b": "decimal(4,1)",
    "c": "float",
    "d": "string",
    "e": "map<string,map<double,int>>",
    "f": "array<struct<x:smallint,y:map<string,string>>>",
}
RIGHT = LEFT | {
    "a": "bigint",
    "b": "decimal(9,4)",
    "c": "double",
    "f": "array<struct<x:int,y:map<string,string>>>",
}
DOUBLES = st.sampled_from([0.0, -0.0, 0.5, math.nan])
INTEGERS = st.sampled_from([None, 0, 1, 11])
TEXTS = st.sampled_from(["", "N", "1", "x||", "1:b"])


def dicts(keys, values):
    """Small maps whose entries come in any order; both zeros as keys of one map are no map."""
    pairs = st.lists(
        st.tuples(keys, values), max_size=3, unique_by=lambda pair: str(pair[0]).strip("-")
    )
    return st.none() | pairs.map(dict)


ROWS = st.tuples(
    INTEGERS,
    st.sampled_from([None, Decimal("0.0"), Decimal("1.5"), Decimal("-10.0")]),
    st.none() | DOUBLES,
    st.none() | TEXTS,
    dicts(TEXTS, dicts(DOUBLES, INTEGERS)),
    st.none()
    | st.lists(st.none() | st.tuples(INTEGERS, dicts(TEXTS, st.none() | TEXTS)), max_size=2),
)


@st.composite
def pairs(draw):
    """Two rows that differ in few columns, one of them with its maps turned around."""
    one, other = draw(ROWS), draw(ROWS)
    kept = draw(st.sets(st.integers(0, len(one) - 1), min_size=3))
    return one, tuple(turned(one[n]) if n in kept else other[n] for n in range(len(one)))


def turned(value):
    """An equal value that looks different."""
    match value:
        case dict():
            return {turned(k): turned(v) for k, v in reversed(value.items())}
        case list() | tuple():
            return type(value)(turned(each) for each in value)
        case float():
            return -value if value == 0 else value
        case _:
            return value


def meaning(value):
    """Give what a value is, whatever it looks like."""
    match value:
        case dict():
            return frozenset((meaning(k), meaning(v)) for k, v in value.items())
        case list() | tuple():
            return tuple(map(meaning, value))
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case _:
            return value


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pairs(), min_size=50, max_size=80))
def test_rows_have_one_hash_exactly_if_they_are_equal(spark, rows):
    declared = [
        f"struct<{','.join(f'{n}:{t}' for n, t in kinds.items())}>" for kinds in (LEFT, RIGHT)
    ]
    frame = spark.createDataFrame(rows, f"l {declared[0]}, r {declared[1]}")
    hashes = [
        row_hash([Column(name, kind) for name, kind in kinds.items()], prefix)
        for prefix, kinds in (("l.", LEFT), ("r.", RIGHT))
    ]
    equal = " AND ".join(equals(f"l.`{n}`", f"r.`{n}`", LEFT[n], RIGHT[n]) for n in LEFT)

    found = frame.selectExpr(*hashes, equal).collect()

    for (one, other), (left, right, compares) in zip(rows, found, strict=True):
        assert compares is (meaning(one) == meaning(other))
        assert compares is (left == right)
        assert left == hash_of(dict(zip(LEFT, one, strict=True)), LEFT)
