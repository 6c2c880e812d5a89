"""Merges into small files rewrite them; into others they hide rows."""

import pytest

from penstock.engine import session

TABLE = (
    "CREATE TABLE {t} USING delta PARTITIONED BY (d) "
    "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
    "AS SELECT /*+ COALESCE(1) */ CAST(id AS INT) AS id, CAST(id % 2 AS INT) AS d, 'old' AS name "
    "FROM range(6)"
)
MERGE = (
    "MERGE INTO {t} t USING (SELECT 1 AS id, 1 AS d UNION ALL SELECT 7, 1) s "
    "ON t.id = s.id AND t.d = 1 WHEN MATCHED THEN UPDATE SET name = 'new' "
    "WHEN NOT MATCHED THEN INSERT (id, d, name) VALUES (s.id, s.d, 'new')"
)
MERGED = [
    (0, 0, "old"), (1, 1, "new"), (2, 0, "old"), (3, 1, "old"), (4, 0, "old"), (5, 1, "old"),
    (7, 1, "new"),
]  # fmt: skip


def hidden(bench, version):
    """Give how many rows each file of a commit hides."""
    added = [line["add"] for line in bench.log("t", version) if "add" in line]
    return [add.get("deletionVector", {}).get("cardinality", 0) for add in added]


@pytest.mark.parametrize(
    ("partitions", "small", "hides"),
    [(1, 8 << 20, 0), (None, 8 << 20, 1), (1, 100, 1), (float("inf"), 8 << 20, 0)],
)
def test_small_files_are_rewritten_where_a_merge_says_how_many_partitions_it_changes(
    bench, monkeypatch, partitions, small, hides
):
    monkeypatch.setattr(session, "_SMALL", small)
    bench.commit(TABLE)

    bench.commit(MERGE, partitions=partitions)

    assert sum(hidden(bench, 1)) == hides
    assert bench.rows("SELECT * FROM {t}") == MERGED
    removed = [line["remove"]["path"] for line in bench.log("t", 1) if "remove" in line]
    assert [path.split("/")[0] for path in removed] == ["d=1"]


def test_a_setting_of_the_user_holds_again_after_the_merge(bench):
    bench.commit(TABLE)
    spark = bench.session._spark

    bench.commit(MERGE, partitions=1)

    assert spark.conf.get(session._HIDES_ROWS, None) is None
