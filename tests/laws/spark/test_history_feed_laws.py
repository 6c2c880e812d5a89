"""Changed rows alone make the history that all rows make, by an oracle that reads all of them.

Keys come, change, change back, go and return; the changes that a run sees name rows that came and
went between two runs, and rows that were written again as they were.
"""

import datetime as dt
import random

import pytest
from hypothesis import settings

from fakes.histories import COLUMNS, COMBINATIONS, FIRST_RUN, NOONS, VALUES
from fakes.history_table import HistoryTable
from fakes.oracle import run
from fakes.oracle_types import OracleError, Source
from laws.spark.test_history_laws import PLAIN, rows
from penstock.core.errors import DataError

GATE = "timestamp_new_record"
FEEDS = tuple(
    name
    for name, how in COMBINATIONS.items()
    if not (how.event_time or how.retention or how.ignore_null_time)
)
deep = settings.default.max_examples > 100
SEEDS = range(12 if deep else 3)
RUNS, KEYS = 6 if deep else 4, 24


def drawn_rows(chance, seq, before):
    """Draw the next rows of a sequence: most keys as they were, and now and then a key twice."""
    found = []
    for number in range(KEYS):
        was = [row for row in before if row["id"] == number]
        roll = chance.random()
        if roll < 0.6:
            found += was
        elif roll < 0.85:
            at, value = chance.choice(NOONS), chance.choice(VALUES)
            found.append({"seq": seq, "id": number, "value": value, "updated_at": at})
    if chance.random() < 0.1 and found:
        found.append({**chance.choice(found), "value": "twice"})
    return found


def images(chance, before, now):
    """Give rows that changes added and removed on the way from some rows to others."""
    left = [*before]
    added, gone = [], []
    for row in now:
        if row in left and chance.random() < 0.7:
            left.remove(row)  # it was not touched
        else:
            added.append(row)
    gone += left
    for row in chance.choices([*before, *now], k=6) if before or now else ():
        passing = {**row, "value": chance.choice(VALUES)}
        added.append(passing)
        gone.append(passing)
    return added, gone


def source(rows_of_run):
    return Source(COLUMNS, tuple(rows_of_run))


def told_twice(spark, folder, name, seed):
    """Run a sequence; give what differs from the oracle, and how many runs read changes alone."""
    chance = random.Random(f"{name} {seed}")  # noqa: S311  no secret
    how = COMBINATIONS[name]
    folder.mkdir()
    table, known, before, fed = HistoryTable(spark, folder, how, confs=PLAIN), None, [], 0
    for number in range(RUNS):
        at = FIRST_RUN + dt.timedelta(days=30 * number)
        now = drawn_rows(chance, seed, before)
        added, gone = images(chance, before, now)
        try:
            known = run(known, source(now), how, at).history
        except OracleError:
            if known is None:
                continue
            with pytest.raises(DataError):
                table.run_fed(at, source(now), source(added), source(gone))
            continue
        table.run_fed(at, source(now), source(added), source(gone))
        fed += table.is_fed
        if rows(table.history()) != rows(known):
            return f"{name} {seed}, run {number}: {rows(table.history())}, wanted {rows(known)}", 0
        before = now
    return "", fed


def test_changed_rows_alone_make_the_history_of_all_rows(spark, tmp_path):
    told, fed = told_twice(spark, tmp_path / "h", GATE, 0)

    assert told == ""
    assert fed >= 2


@pytest.mark.matrix
@pytest.mark.parametrize("name", FEEDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_changed_rows_alone_make_the_history_of_all_rows_whatever_the_settings(
    spark, tmp_path, name, seed
):
    told, _ = told_twice(spark, tmp_path / "h", name, seed + 1)

    assert told == ""
