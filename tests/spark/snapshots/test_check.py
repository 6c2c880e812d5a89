"""The strategy `check`, with columns and with a row hash."""

import re

import pytest

from fakes.snapshot_cases import CK, T5, Cases, Extract, Told
from penstock.app.request import SnapshotRequest
from penstock.engine.session import SparkStepSession

pytestmark = pytest.mark.matrix

CASES = Cases(abroad=2)
HASHED = {"row_hash": True}
DELETED = ",__delta_internal_is_row_deleted:tinyint"

RUNS = ("1 alpha 01-01", "1 beta 01-01", "1 alpha 01-01", "1 alpha 02-02")
plain = CASES.add("plain", CK, *RUNS)
plain_hash = CASES.add("plain_hash", CK | HASHED, *RUNS)


def test_another_value_closes_and_opens(runs) -> None:
    versions = ["1 alpha 01-01 [T1, T2)", "1 beta 01-01 [T2, )"]
    moved = {"source_rows": 1, "opened_changed": 1, "closed": 1}

    assert runs.told(plain, 2) == Told("success", 1, versions, moved)
    assert runs.told(plain_hash, 2) == Told("success", 1, versions, moved)


def test_a_value_that_comes_back_is_a_change_and_an_unlisted_column_is_none(runs) -> None:
    versions = [
        "1 alpha 01-01 [T1, T2)",
        "1 beta 01-01 [T2, T3)",
        "1 alpha 01-01 [T3, )",
    ]
    same = Told("unchanged", 2, versions, {"source_rows": 1, "unchanged": 1})

    assert runs.told(plain, 4) == same
    assert runs.told(plain_hash, 4) == same


# Keys 1 to 3 change, keys 4 and 5 do not; 5 has what is equal and written in another way.
MIXED = CK | {"check_cols": ["x", "y", "at", "m", "d", "f", "g"]}
AT = "to_timestamp('2024-03-31 02:30:00')"  # there is no such time in Amsterdam
BEFORE = "1 x|| y, 2 NULL y, 3 '' y, 4 NULL NULL, 5 x y"
AFTER = "1 x ||y, 2 '' y, 3 NULL y, 4 NULL NULL, 5 x y"


def mixed(rows: str, m: str, d: str, g: str) -> Extract:
    others = f"{AT} as at, {m} as m, {d} as d, double('NaN') as f, {g} as g"
    sql = f"select id, x, y, {others} from ({{rows}})"
    return Extract(rows, columns="id INT, x STRING, y STRING", sql=sql)


OLD = mixed(BEFORE, "map('a', 1, 'b', 2)", "cast(1.5 as decimal(10, 2))", "double(-0.0)")
NEW = mixed(AFTER, "map('b', 2, 'a', 1)", "cast(1.5 as decimal(9, 1))", "double(0.0)")
pairs = CASES.add("pairs", MIXED, OLD, NEW)
pairs_hash = CASES.add("pairs_hash", MIXED | HASHED, OLD, NEW)
variant = CASES.add(
    "variant",
    CK | {"check_cols": "all"},
    Extract("1", columns="id INT", sql="select id, parse_json('1') as v from ({rows})"),
)
CHANGED = {"source_rows": 5, "opened_changed": 3, "closed": 3, "unchanged": 2}


@pytest.mark.parametrize("name", [pairs, pairs_hash])
def test_texts_are_compared_one_by_one_and_NULL_is_no_empty_text(runs, name) -> None:
    table = runs.place.table(name)
    rows = runs.sql(f"SELECT id, x, y, _ps_is_current FROM {table} ORDER BY 1, _ps_valid_from")

    assert runs.result(name, 2).metrics.items() >= CHANGED.items()
    assert rows == [
        (1, "x||", "y", False),
        (1, "x", "||y", True),
        (2, None, "y", False),
        (2, "", "y", True),
        (3, "", "y", False),
        (3, None, "y", True),
        (4, None, None, True),
        (5, "x", "y", True),
    ]


@pytest.mark.parametrize("name", [pairs, pairs_hash])
def test_equal_values_are_equal_however_they_are_written(runs, name) -> None:
    """Of key 5 another map order, scale, zero and session time zone."""
    table = runs.place.table(name)

    assert runs.sql(f"SELECT count(*) FROM {table} WHERE id = 5") == [(1,)]


def test_a_variant_cannot_be_compared(runs) -> None:
    error = runs.result(variant, 1).error

    assert runs.error(variant, 1) == (
        "uncomparable-column: column 'v' is VARIANT, which cannot be compared"
    )
    assert error.hint == "compare to_json(v)"


def test_a_hash_is_compared_instead_of_the_columns(runs, monkeypatch) -> None:
    scans = []
    sift = SparkStepSession._sift

    def watched(session, stage, passing):
        session._spark.conf.set("spark.sql.maxMetadataStringLength", "9999")
        for view, sql in passing.sides.items():
            session._spark.sql(sql).createOrReplaceTempView(view)
        plan = session._spark.sql(passing.sql)._jdf.queryExecution().executedPlan().toString()
        scans.extend(re.findall(r"ReadSchema: struct<(id:.*)>", plan))
        return sift(session, stage, passing)

    monkeypatch.setattr(SparkStepSession, "_sift", watched)
    place = runs.place
    words = "SELECT 'plain_hash', array('1', 'alpha', '2024-02-02')"
    place.sql(f"INSERT OVERWRITE {place.landing('feed')} {words}")

    report = place.run(plain_hash, as_of=T5, snapshot=SnapshotRequest())

    assert report[plain_hash].status == "unchanged"
    assert [scan.replace(DELETED, "") for scan in scans] == [
        "id:int,_ps_valid_from:timestamp,_ps_row_hash:string"
    ]


def test_the_row_hash_is_64_hex_digits_beside_the_row(runs) -> None:
    hashes = runs.sql(
        "SELECT value, _ps_row_hash RLIKE '^[0-9a-f]{{64}}$', count(*) OVER "
        "(PARTITION BY _ps_row_hash) FROM {plain_hash} ORDER BY _ps_valid_from"
    )

    assert hashes == [("alpha", True, 2), ("beta", True, 1), ("alpha", True, 2)]
