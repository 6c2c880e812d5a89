"""The same rows make the same history with and without `row_hash`, whatever their types become."""

import datetime as dt
import random
from dataclasses import replace

import pytest
from hypothesis import settings

from fakes.history_table import HistoryTable
from penstock.core.history import ColumnsDiffer, HardDeletes, HashDiffers, SystemColumns
from penstock.strategies.history.snapshot import Snapshot

COLUMNS = ("a", "b", "c")
PLAIN = Snapshot(("id",), ColumnsDiffer(COLUMNS))
HASHED = replace(PLAIN, change=HashDiffers(SystemColumns.with_prefix().row_hash, COLUMNS))
FIRST = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
# Types that Delta widens into each other, from narrow to wide; each run draws one of each.
CHAINS = (
    ("TINYINT", "SMALLINT", "INT", "DOUBLE"),
    ("FLOAT", "DOUBLE"),
    ("INT", "DECIMAL(12,2)", "DECIMAL(14,4)"),
)
SHAPES = ("{}", "array({})", "named_struct('x', {})", "map('k', {})")
VALUES = ("NULL", "0", "1", "2", "-0.0", "100")
deep = settings.default.max_examples > 100
SEEDS = range(20 if deep else 1)
RUNS = 6 if deep else 2


def queries(chance: random.Random) -> list[str]:
    """Draw the query of each run; keys come and go, values and types change."""
    shapes = [chance.choice(SHAPES) for _ in COLUMNS]
    found = []
    for _ in range(RUNS):
        kinds = [chance.choice(chain) for chain in CHAINS]
        casts = ", ".join(
            f"{shape.format(f'CAST({name} AS {kind})')} AS {name}"
            for name, shape, kind in zip(COLUMNS, shapes, kinds, strict=True)
        )
        rows = ", ".join(
            f"({key}, {', '.join(chance.choice(VALUES) for _ in COLUMNS)})"
            for key in range(8)
            if chance.random() < 0.8
        )
        found.append(f"SELECT id, {casts} FROM VALUES (99, 1, 1, 1), {rows} AS v(id, a, b, c)")
    return found


@pytest.mark.matrix
@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_is_the_same_with_and_without_row_hash(spark, tmp_path, seed):
    chance = random.Random(seed)  # noqa: S311  # no secret
    missing = chance.choice(list(HardDeletes))
    asked = queries(chance)
    histories = []
    for name, how in (("plain", PLAIN), ("hashed", HASHED)):
        folder = tmp_path / name
        folder.mkdir()
        table = HistoryTable(spark, folder, replace(how, hard_deletes=missing))
        told = [table.run_sql(FIRST + dt.timedelta(n), sql) for n, sql in enumerate(asked)]
        histories.append((told, table.history().versions))

    assert histories[0] == histories[1], (missing, asked)
