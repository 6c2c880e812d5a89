"""Rows by the partitions that read them, and the questions about them, as SQL."""

import pytest

from penstock.core.checks.check_type import Measure
from penstock.core.columns.schema import Column, Schema
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid
from penstock.strategies.checks.queries import (
    KEY,
    alias,
    both_query,
    cells,
    count_query,
    failing_query,
    group_of,
    group_query,
    key_sql,
    one_group_query,
    phase_query,
    ranged,
    renamed,
    sample_of,
    sample_query,
    shown_columns,
    text_of,
    united,
    values_query,
    verdict,
)

DAY = Grid(Grain.DAY)
AT = Column("at", "timestamp")
ONE, TWO = DAY.parse("2024-12-01"), DAY.parse("2024-12-02")
LOW = "TIMESTAMP '2024-12-01T00:00:00.000000Z'"
HIGH = "TIMESTAMP '2024-12-02T00:00:00.000000Z'"
LATER = "TIMESTAMP '2024-12-03T00:00:00.000000Z'"


@pytest.mark.parametrize(
    ("column", "pieces", "where"),
    [
        (AT, (DAY.span(ONE),), f" WHERE (`at` >= {LOW} AND `at` < {HIGH})"),
        (AT, ((FIRST, DAY.upper(ONE)),), f" WHERE (`at` < {HIGH})"),
        (AT, ((DAY.lower(ONE), LAST),), f" WHERE (`at` >= {LOW})"),
        (AT, (DAY.span(ONE), (FIRST, LAST)), ""),
        (AT, (), " WHERE false"),
        (None, (DAY.span(ONE),), ""),
    ],
    ids=["both ends", "no low", "no high", "all", "nothing", "no column"],
)
def test_what_one_partition_reads_is_a_condition(column, pieces, where):
    found = ranged("in", column, {"2024-12-01": pieces})

    assert found == f"SELECT *, '2024-12-01' AS {KEY} FROM `in`{where}"


def test_what_several_partitions_read_is_joined_so_that_a_row_can_stand_there_twice():
    spans = {
        "2024-12-01": (DAY.span(ONE), (DAY.lower(TWO), LAST)),
        "2024-12-02": (DAY.span(TWO),),
    }

    assert ranged("in", AT, spans) == (
        f"SELECT r.*, g.{KEY} FROM `in` r JOIN (SELECT * FROM VALUES "
        f"('2024-12-01', {LOW}, {HIGH}), ('2024-12-01', {HIGH}, NULL), "
        f"('2024-12-02', {HIGH}, {LATER}) AS g({KEY}, `_ps_low`, `_ps_high`)) g ON "
        "(g.`_ps_low` IS NULL OR r.`at` >= g.`_ps_low`) "
        "AND (g.`_ps_high` IS NULL OR r.`at` < g.`_ps_high`)"
    )


def test_partitions_that_read_nothing_have_no_rows():
    assert ranged("in", AT, {"2024-12-01": (), "2024-12-02": ()}) == (
        f"SELECT *, '' AS {KEY} FROM `in` WHERE false"
    )


NAMES = Schema((Column("n", "int"), Column("N", "void")))
ROW = "left(CAST(`n` AS STRING), 81) AS c0"
PLAIN = Measure({"rows": "count(*)", "most": "max(`n`)"}, verdict, "n > 1")
UNIQUE = Measure({}, verdict, "`__penstock_copies` > 1", ("n",))


@pytest.mark.parametrize(
    ("grid", "kind", "key"),
    [
        (Grid(Grain.WHOLE), "date", "'*'"),
        (Grid(Grain.HOUR), "timestamp", "replace(left(CAST(`a` AS STRING), 13), ' ', 'T')"),
        (Grid(Grain.DAY), "date", "CAST(`a` AS STRING)"),
        (Grid(Grain.DAY), "timestamp", "CAST(CAST(`a` AS DATE) AS STRING)"),
        (Grid(Grain.WEEK), "date", "CAST(trunc(`a`, 'WEEK') AS STRING)"),
        (Grid(Grain.YEAR), "date", "left(CAST(`a` AS STRING), 4)"),
        *(
            (
                Grid(Grain.RANGE, start=start, end=end, interval=5),
                "bigint",
                (
                    f"CASE WHEN `a` >= {start} AND `a` < {end} THEN CAST(CAST(`a` AS {wide}) - "
                    f"pmod(CAST(`a` AS {wide}) - CAST('{start}' AS {wide}), CAST('5' AS {wide})) "
                    "AS STRING) END"
                ),
            )
            for start, end, wide in (
                (-7, 2**63 - 8, "BIGINT"),
                (-7, 2**63 - 7, "DECIMAL(38,0)"),
                (1 - 2**63, 8 - 2**63, "BIGINT"),
                (-(2**63), -5, "DECIMAL(38,0)"),
            )
        ),
    ],
)
def test_the_key_of_a_partition_is_made_of_its_column(grid, kind, key):
    assert key_sql(grid, "a", kind) == key


def test_groups_are_measured_together_or_one_alone():
    most = "max(`n`)"

    assert phase_query("r", "k", {"m": most}) == (
        f"SELECT k AS __penstock_group, {most} AS `m` FROM (\nr\n) GROUP BY k"
    )
    assert phase_query("r", "", {"m": most}) == f"SELECT {most} AS `m` FROM (\nr\n)"
    assert group_of("r", "k", "a") == "SELECT * FROM (\nr\n) WHERE k = 'a'"
    assert group_of("r", "", "a") == "r"
    assert one_group_query("r", "a", PLAIN) == (
        "SELECT 'a' AS __penstock_group, count(*) AS `m0`, count(*) AS `m1`, max(`n`) AS `m2` "
        "FROM (\nr\n)"
    )
    row = {"m0": 3, "m1": 3, "m2": "9"}
    assert renamed(row, PLAIN) == {"_ps_n": 3, alias("max(`n`)"): "9"}


def test_rows_that_fail_are_shown_lowest_group_first():
    names = shown_columns(NAMES, ["n"])
    few, one = (["a", "b"], ["a"])

    assert names == Schema((Column("n", "int"), Column("N", "void")))
    assert sample_query("r", "k", few, PLAIN, "w", NAMES).endswith(
        "FROM (\nr\n) WHERE (w) AND (k IN ('a', 'b')) AND (n > 1) ORDER BY k LIMIT 6"
    )
    assert sample_query("r", "k", one, PLAIN, "", NAMES).endswith(
        "WHERE (k IN ('a')) AND (n > 1) LIMIT 6"
    )
    copies = (
        "SELECT *, count(*) OVER (PARTITION BY k, `n`) AS __penstock_copies FROM (\nr\n) WHERE "
    )
    assert f"FROM (\n{copies}(w) AND (k IN ('a'))\n)" in (
        sample_query("r", "k", one, UNIQUE, "w", NAMES)
    )
    assert "PARTITION BY `n`) AS" in sample_query("r", "", few, UNIQUE, "w", NAMES)
    assert sample_query("r", "", few, UNIQUE, "", NAMES).endswith(" ORDER BY `n` LIMIT 6")


def test_rows_that_fail_are_kept_as_a_table_can_hold_them():
    shown = "SELECT `n`, CAST(NULL AS STRING) AS `N_2` FROM (\n"
    end = "\n) AS t(`n`, `N_2`)"

    assert failing_query("r", "k", PLAIN, "w", NAMES, None) == (
        f"{shown}SELECT `n`, `N` FROM (\nr\n) WHERE (w) AND (n > 1){end}"
    )
    found = failing_query("r", "k", UNIQUE, "", NAMES, 7)
    assert (
        "OVER (PARTITION BY k, `n`) AS __penstock_copies FROM (\nr\n) WHERE true\n) WHERE" in found
    )
    assert found.endswith(f"{end} LIMIT 7")


def test_values_that_are_not_accepted_are_counted_beside_a_sample():
    frequent = (
        "SELECT {} AS __penstock_group, left(CAST(`n` AS STRING), 81) AS value, count(*) AS n "
        "FROM (\nr\n) WHERE {}(n > 1) GROUP BY ALL"
    )
    place = "row_number() OVER (PARTITION BY __penstock_group ORDER BY n DESC, value) AS place"
    outer = "SELECT * FROM (SELECT *, " + place + " FROM ({})) WHERE place <= 5"

    assert values_query("r", "k", ["a"], PLAIN, "", Column("n", "int")) == (
        outer.format(frequent.format("k", "(k IN ('a')) AND "))
    )
    assert values_query("r", "", ["a"], PLAIN, "", Column("n", "int")) == (
        outer.format(frequent.format("'*'", ""))
    )
    assert both_query("v", "s", 2) == (
        "(SELECT __penstock_group, value, n, place, CAST(NULL AS STRING) AS c0, "
        "CAST(NULL AS STRING) AS c1 FROM (v)) UNION ALL (SELECT '', '', 0, 0, c0, c1 FROM (s))"
    )


def test_cells_are_short_texts_of_twenty_columns():
    wide = Schema(tuple(Column(f"a{number}", "int") for number in range(21)))
    sample = sample_of([{"c0": "x" * 90, "c1": None}] * 6, NAMES)

    assert [cells(NAMES, ["`n`", "`N`"])[0], len(cells(wide))] == [ROW, 20]
    assert cells(NAMES)[0] == "left(CAST(c0 AS STRING), 81) AS c0"
    assert [column.name for column in shown_columns(wide, ["a20"]).columns][-2:] == ["a18", "a20"]
    assert [text_of("v", kind) for kind in ("binary", "variant", "array<int>")] == [
        *("left(hex(v), 81)", "left(to_json(v), 81)", "left(to_json(v), 81)")
    ]
    assert (sample.columns, sample.rows) == (("n", "N_2"), (("x" * 79 + "…", None),) * 5)


def test_a_query_that_must_give_no_row_shows_and_counts_those_of_each_group():
    assert group_query("q", "a", NAMES) == (
        "SELECT 'a' AS __penstock_group, left(CAST(c0 AS STRING), 81) AS c0, "
        "left(CAST(c1 AS STRING), 81) AS c1 FROM (\nq\n) AS t(c0, c1) LIMIT 6"
    )
    assert (
        group_query("q", "a", None)
        == "SELECT 'a' AS __penstock_group, 1 AS c0 FROM (\nq\n) LIMIT 6"
    )
    assert count_query("q", "a") == "SELECT 'a' AS __penstock_group, count(*) AS n FROM (\nq\n)"
    assert (united(["q"]), united(["q", "p"])) == ("q", "(q) UNION ALL (p)")


@pytest.mark.parametrize(
    ("rows", "exact", "said"),
    [
        (0, False, ("passed", "no rows", 0)),
        (5, False, ("failed", "5 rows (expected 0)", 5)),
        (6, False, ("failed", "more than 5 rows (expected 0)", None)),
        (6, True, ("failed", "6 rows (expected 0)", 6)),
    ],
)
def test_a_verdict_is_exact_as_far_as_rows_are_kept(rows, exact, said):
    found = verdict(rows, exact=exact)

    assert (str(found.status), found.message, found.failures) == said
