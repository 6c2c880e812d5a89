"""The engine of history tables agrees with the oracle, sequence by sequence, run by run.

Many sequences lie side by side in one table, each under a number of its own, so that one run of
Spark is a run of all of them; the tables of several combinations of settings are made at once.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.histories import COMBINATIONS, pack, schedules, sequences
from fakes.history_table import HistoryTable
from fakes.oracle import run

# The gate holds 40 sequences, `make test-laws` 11,760: 560 of every combination.
GATE = ("check_all_null_keys", "event_time_keep_both")
DRAWN = 20  # sequences that Hypothesis draws at a time, all of one schedule
THREADS = 4
deep = settings.default.max_examples > 100
SIZE = 80 if deep else 20  # in one table: a run of Spark takes as long for many as for few
RUNS = (4, 6) if deep else (3, 3)
# Compiling Java for each statement takes longer than these rows; other tests compile.
PLAIN = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
SCHEDULES = max(1, settings.default.max_examples // 150)


def drawing(examples):
    """Draw so many examples; the first one is the smallest, often without any row."""
    return settings(max_examples=examples + 1, suppress_health_check=list(HealthCheck))


def rows(history):
    """Give what the versions say, whether or not a column is there for its NULLs."""
    told = [
        (
            repr(v.key),
            v.valid_from,
            v.valid_to,
            v.is_current,
            bool(v.is_deleted),
            {column: each for column, each in v.values.items() if each is not None},
        )
        for v in history.versions
    ]
    return sorted(told, key=lambda each: each[:2])


def without_zeros(metrics):
    return {name: count for name, count in metrics.items() if count}


def compare(spark, folder, name, runs):
    """Hold every run of one combination against the oracle; give "" or what differs."""
    combination = COMBINATIONS[name]
    folder.mkdir()
    more = {"foretells": deep, "replays": not deep or int(folder.name) % 2 == 0}
    table, known = HistoryTable(spark, folder, combination, confs=PLAIN, **more), None
    for number, each in enumerate(runs):
        outcome = run(known, each.source, combination, each.at)
        metrics = table.run(each.at, each.source)
        known = outcome.history
        if without_zeros(asdict(outcome.metrics)) != without_zeros(metrics):
            return f"{name}, run {number}: counted {metrics}, wanted {outcome.metrics}"
        if rows(table.history()) != rows(known):
            return f"{name}, run {number}: rows {rows(table.history())}, wanted {rows(known)}"
    table.run(runs[-1].at, runs[-1].source)
    return f"{name}: the same run again commits" if table.committed else ""


def drawn(combination):
    """Let Hypothesis draw schedules, and for each as many sequences as one table holds."""
    times = []

    @drawing(SCHEDULES)
    @given(schedule=schedules(*RUNS))
    def choose(schedule):
        times.append(schedule)

    choose()
    return [pack(sequences_of(combination, each)) for each in times[1:]]


def sequences_of(combination, schedule):
    found = []

    @drawing(SIZE // DRAWN)
    @given(many=st.lists(sequences(combination, schedule), min_size=DRAWN, max_size=DRAWN))
    def keep(many):
        found.extend(many)

    keep()
    return found[DRAWN:]


@pytest.mark.timeout(3600)  # a search takes longer than the gate
def test_the_engine_makes_what_the_oracle_makes(spark, tmp_path):
    names = COMBINATIONS if deep else GATE
    stories = [(name, runs) for name in names for runs in drawn(COMBINATIONS[name])]

    with ThreadPoolExecutor(THREADS) as pool:
        held = [
            pool.submit(compare, spark, tmp_path / str(number), name, runs)
            for number, (name, runs) in enumerate(stories)
        ]

    assert len(stories) >= len(names)
    assert [each.result() for each in held if each.result()] == []
